//go:build !race

package sim_test

const usualNights = 2000
