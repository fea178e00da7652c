// Package sim simulates clusters.
package sim
