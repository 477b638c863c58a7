package registry

// The API server's limits: all of data, and all annotations.
const (
	maxData        = 1 << 20
	maxAnnotations = 256 << 10
)

// checkSize refuses what the API server would refuse, and says by how much.
func (e edit) checkSize(c *configMap) error {
	if err := fits("data", maxData, valuesAfter(c.Data, nil), valuesAfter(c.Data, e.data)); err != nil {
		return err
	}
	notes := c.Metadata.Annotations
	return fits("annotations", maxAnnotations, keysAfter(notes, nil)+valuesAfter(notes, nil), keysAfter(notes, e.annotations)+valuesAfter(notes, e.annotations))
}

// fits lets pass what shrinks, however full it is.
func fits(part string, limit, before, after int) error {
	if after <= limit || after <= before {
		return nil
	}
	return &FullError{Part: part, Left: max(0, limit-before), Needs: after - before}
}

// valuesAfter is the size of all values once change is applied; the API server does not count the keys of data.
func valuesAfter(have map[string]string, change map[string]*string) int {
	size := 0
	for key, value := range have {
		if _, changed := change[key]; !changed {
			size += len(value)
		}
	}
	for _, value := range change {
		if value != nil {
			size += len(*value)
		}
	}
	return size
}

func keysAfter(have map[string]string, change map[string]*string) int {
	size := 0
	for key := range have {
		if value, changed := change[key]; !changed || value != nil {
			size += len(key)
		}
	}
	for key, value := range change {
		if _, old := have[key]; !old && value != nil {
			size += len(key)
		}
	}
	return size
}
