package blobs

// What the tests outside of this package see besides.
var OpenS3Waiting = openS3
