"""The numbers of plots about a study, as records that know no picture, and the charts of them."""
