package blobs

// What the tests of this package see besides.
var OpenS3Waiting = openS3
