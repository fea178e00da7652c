// Package former knows the names and shapes that fields of our kinds had in earlier versions of
// v1alpha1.
//
// It promises that an object of an earlier version says the same after Convert: only names and
// shapes change. An object of today is left as it is, and so is a field whose new name is there
// too: which of the two counts is for a person to say. A field that only a person can rewrite is left, and named.
package former
