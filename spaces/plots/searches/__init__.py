"""The numbers of plots about searches, as records that know no picture, and the charts of them."""
