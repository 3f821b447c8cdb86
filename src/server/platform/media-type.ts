/** A media type without parameters, in lower case. */
export const mediaTypePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,99}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}$/

/** Returns the media type of a content type: without parameters, in lower case; empty without one. */
export const mediaTypeIn = (contentType: unknown): string =>
  (String(contentType ?? '').split(';', 1)[0] ?? '').trim().toLowerCase()
