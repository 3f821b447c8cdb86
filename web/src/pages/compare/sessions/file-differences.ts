import type { WorkspaceFile } from '../../../../../src/contract/files.ts'

export interface FileDifference {
  readonly path: string
  /** Undefined where the session does not have the file. */
  readonly a: WorkspaceFile | undefined
  readonly b: WorkspaceFile | undefined
}

/** Returns the files that differ between two sessions, by path. */
export function fileDifferences(a: readonly WorkspaceFile[], b: readonly WorkspaceFile[]): FileDifference[] {
  const [ofA, ofB] = [byPath(a), byPath(b)]
  return [...new Set([...ofA.keys(), ...ofB.keys()])]
    .map(path => ({ path, a: ofA.get(path), b: ofB.get(path) }))
    .filter(pair => !isSame(pair.a, pair.b))
    .toSorted((x, y) => (x.path < y.path ? -1 : 1))
}

const byPath = (files: readonly WorkspaceFile[]): ReadonlyMap<string, WorkspaceFile> =>
  new Map(files.map(file => [file.path, file]))

const isSame = (a: WorkspaceFile | undefined, b: WorkspaceFile | undefined): boolean =>
  a !== undefined && b !== undefined && a.type === b.type && a.sha256 === b.sha256 && a.target === b.target
