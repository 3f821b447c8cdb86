import { join } from 'node:path'
import { checkOut } from '../calls/other-commit.ts'

/** A version of the program that is measured. */
export interface Tree {
  readonly name: string
  /** Its folder; undefined: this tree. */
  readonly root?: string
}

/** This tree, and another commit of the repository where one is named. */
export function treesOf(folder: string, against: string | undefined): readonly Tree[] {
  const own: Tree = { name: 'this tree' }
  return against === undefined ? [own] : [own, checkOut(against, join(folder, 'other'))]
}
