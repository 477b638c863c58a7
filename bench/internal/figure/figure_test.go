package figure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantileIsTheSmallestThatTheShareDoesNotExceed(t *testing.T) {
	all := make([]time.Duration, 100)
	for i := range all {
		all[i] = time.Duration(100 - i)
	}
	require.Equal(t, time.Duration(50), Quantile(all, 0.50))
	require.Equal(t, time.Duration(99), Quantile(all, 0.99))
	require.Equal(t, time.Duration(7), Quantile([]time.Duration{7}, 0.99))
	require.Equal(t, time.Duration(2), Quantile([]time.Duration{3, 1, 2}, 0.50))
	require.Zero(t, Quantile(nil, 0.5))
}
