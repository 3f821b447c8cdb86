/** Larger files are offered for download only. */
export const maxShownBytes = 1024 * 1024

export type FileContent = { readonly isText: true; readonly text: string } | { readonly isText: false }

/** Returns the text of a file; binary content is not text. */
export function fileContentOf(bytes: ArrayBuffer): FileContent {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? { isText: false } : { isText: true, text }
  } catch {
    return { isText: false }
  }
}

/** Returns whether a browser would draw the file as a page: only then a preview is offered. */
export const isPage = (path: string): boolean => /\.(html?|xhtml|svg)$/i.test(path)
