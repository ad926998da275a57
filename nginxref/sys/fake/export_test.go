package fake

// Names that the tests print, too.
var (
	ErrnoName = errnoName
	BitNames  = bitNames
)
