"""What MkDocs does not do by itself: it takes the pages of the whole repository, makes the menu of
docs/README.md, and checks the headings that links lead to. `mkdocs build --strict` fails for a warning.
"""
import json
import logging
import os
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
INDEX = "docs/README.md"
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"(?ms)(^ *```.*?^ *```$)")
INDENT = re.compile(r"(?m)^ {3}(?=\S)")
log = logging.getLogger("mkdocs.hooks")
to_headings = []  # (page, link, page that it leads to, heading)


def pages():
    """All pages, as paths in the repository."""
    found = (p.relative_to(ROOT) for p in ROOT.rglob("*.md"))
    return sorted(p.as_posix() for p in found if not any(d in ("bin", "dist", "testdata") or d.startswith(".") for d in p.parts))


def resolve(page, link):
    """The path in the repository that a link of a page leads to, and the heading."""
    link, _, heading = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(page), link)) if link else page
    if (ROOT / target / "README.md").exists():
        target = os.path.normpath(os.path.join(target, "README.md"))
    return target, heading


def menu(all_pages):
    """The sections of docs/README.md with the pages, or folders of pages, that each is the first to link to."""
    left = [page for page in all_pages if page not in ("README.md", INDEX)]
    nav = [{"kubectl-upgrade": "README.md"}, INDEX]
    for line in (ROOT / INDEX).read_text().splitlines():
        if line.startswith("## "):
            nav.append({line[3:]: []})
        for link in LINK.findall(line):
            target, _ = resolve(INDEX, link)
            listed = [page for page in left if page == target or page.startswith(target + "/")]
            left = [page for page in left if page not in listed]
            if listed:
                section = next(iter(nav[-1].values())) if isinstance(nav[-1], dict) else nav
                section += listed if listed == [target] else [{os.path.basename(target).capitalize(): listed}]
    for page in left:
        if page.startswith("docs/"):
            log.warning("%s does not list %s, so it is missing in the menu", INDEX, page)
    return [entry for entry in nav if entry not in ({}, [])] + [{"More": left}]


def on_config(config):
    found = pages()
    folder = ROOT / "bin/.pages"  # of links, since MkDocs wants all pages in a folder of their own
    shutil.rmtree(folder, ignore_errors=True)
    for name in ["docs"] + [page for page in found if not page.startswith("docs/")]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(ROOT / name)
    for name in ("site.css", "site.js"):
        (folder / name).symlink_to(Path(__file__).parent / name)
    config["docs_dir"] = str(folder)
    config["nav"] = menu(found)
    to_headings.clear()
    return config


def marks(block):
    """A block of commands without the marks that CONTRIBUTING.md explains, which MkDocs does not know."""
    block = re.sub(r"^( *```)(sh|console run)\n", r'\1\2 title="A test runs these commands."\n', block)
    return re.sub(r"^( *```(?:sh|console)) (?:example|run)\b", r"\1", block)


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri

    def link(match):
        to = match[1]
        if "://" in to or to.startswith("mailto:"):
            return match[0]
        target, heading = resolve(here, to)
        if files.get_file_from_path(target):
            if heading:
                to_headings.append((here, to, target, heading))
            if to.startswith("#"):
                return match[0]
            return f"]({os.path.relpath(target, os.path.dirname(here) or '.')}{'#' + heading if heading else ''})"
        if target.startswith("..") or not (ROOT / target).exists():
            log.warning("%s links to %s: there is no such file", here, to)
        return f"]({config['extra']['files']}{config['extra']['commit']}/{target})"

    # GitHub needs no empty line before a list or after a block, and no indent of four
    parts = FENCE.split(markdown)
    parts[2::2] = [re.sub(r"\A\n(?!\n)", "\n\n", text) for text in parts[2::2]]
    parts[::2] = [re.sub(r"(?m)^(?![-|#]|\d+\.|\s+-)(.+)\n(?=(?:-|\d+\.) )", r"\1\n\n", INDENT.sub("    ", LINK.sub(link, text))) for text in parts[::2]]
    parts[1::2] = [marks(re.sub("(?m)^" + INDENT.match(block)[0], "    ", block) if INDENT.match(block) else block) for block in parts[1::2]]
    return "".join(parts)


def on_page_content(html, **_):
    return html.replace("<th></th>", "<td></td>")  # a cell without text is no header


def on_env(env, config, files):
    for here, to, target, heading in to_headings:
        page = files.get_file_from_path(target).page
        if not page or f'id="{heading}"' not in page.content:
            log.warning("%s links to %s: the page has no such heading", here, to)


def on_post_build(config):
    """Lists the versions beside this one, and leads visitors to the newest release, or else to this one."""
    site = Path(config["site_dir"])
    (site / "404.html").unlink()  # works only where the site is at the root of its host
    key = lambda version: [int(n) for n in re.findall(r"\d+", version)[:3]]
    versions = sorted((d.name for d in site.parent.iterdir() if (d / "index.html").exists()), key=key, reverse=True)
    first = next((v for v in versions if re.fullmatch(r"v[0-9.]+", v)), site.name)
    (site.parent / "versions.json").write_text(json.dumps([{"version": v, "title": v, "aliases": []} for v in versions]))
    (site.parent / "index.html").write_text(f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url={first}/index.html">\n<title>kubectl-upgrade</title>\n<p><a href="{first}/index.html">kubectl-upgrade {first}</a></p>\n</html>\n')
