/** Returns the media type of a content type: without parameters, in lower case; empty without one. */
export const mediaTypeIn = (contentType: unknown): string =>
  (String(contentType ?? '').split(';', 1)[0] ?? '').trim().toLowerCase()
