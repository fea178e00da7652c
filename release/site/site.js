// What the theme lacks for the keyboard and for screen readers.
document.querySelector(".md-search").ariaLabel = "Search";
document$.subscribe(() => {
  for (const scrolls of document.querySelectorAll(".md-search__scrollwrap, .md-typeset__scrollwrap, pre")) scrolls.tabIndex = 0;
});
