import { join } from 'node:path'

/** Folder of the console's sources and of its build, `dist`. */
export const webFolder = join(import.meta.dirname, '..', '..', '..', 'web')

/** Encodings in which a build has its texts, the preferred one first, with the ending of their files. */
export const encodings = { br: '.br', gzip: '.gz' } as const
export type Encoding = keyof typeof encodings

/** A file of a build. Only files of the list are served. */
export interface BuiltFile {
  /** Path below `/console/`, such as `assets/index-DzQ1.js`. */
  readonly path: string
  /** SHA-256 of the content, in base64url. */
  readonly digest: string
  /** Encodings that also exist, each in a file beside it. */
  readonly encodings: readonly Encoding[]
}

/** Content of `web/dist/build.json`, which `scripts/console-build.ts` writes last. */
export interface BuildList {
  /** Digest of the sources of the build. */
  readonly sources: string
  readonly files: readonly BuiltFile[]
}

export const listName = 'build.json'
export const pageName = 'index.html'
/** Part of the page that becomes a new nonce with each load. */
export const noncePlaceholder = '%NONCE%'
