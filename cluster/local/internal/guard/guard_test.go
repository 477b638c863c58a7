package guard

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const listing = `Chain OUTPUT (policy ACCEPT 1 packets, 2 bytes)
    pkts      bytes target     prot opt in     out     source               destination
       7      420 DROP       all  --  *      eth0    0.0.0.0/0            198.18.0.0/15        /* tandem-local a */
      12      720 DROP       all  --  *      eth0    0.0.0.0/0            198.18.0.0/15        /* tandem-local ab */
12345678901 99999 DROP       all  --  *      eth1    0.0.0.0/0            198.18.0.0/15        /* tandem-local ab */
       3      180 ACCEPT     all  --  *      *       0.0.0.0/0            0.0.0.0/0
`

func TestPacketsCountsTheRulesOfOneInstance(t *testing.T) {
	for _, test := range []struct {
		name, listing, comment string
		want                   int
		err                    string
	}{
		{"the rule of an instance", listing, "tandem-local a", 7, ""},
		{"all rules of an instance whose name begins as another's", listing, "tandem-local ab", 12345678913, ""},
		{"no rule, as on a machine without a default route", listing, "tandem-local c", 0, ""},
		{"nothing listed", "", "tandem-local a", 0, ""},
		{"a count that is no number, as without -x", "  12K 1 DROP /* tandem-local a */\n", "tandem-local a", 0, "12K"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := packets(test.listing, test.comment)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}
