// Package pages is the pure half of the reports: how the pages of pkg/apis/pages/v1 are written and read, what state they add up to,
// and what the next publication has to write. Time is an argument, in milliseconds of the view's clock.
//
// It may import apimachinery and pkg/apis only.
package pages
