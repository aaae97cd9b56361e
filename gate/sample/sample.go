// Package sample reduces traces to samples: it finds the steps, skips the warm-up and leaves one value per run.
package sample
