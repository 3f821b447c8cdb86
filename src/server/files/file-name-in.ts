import { invalid } from '../platform/errors.ts'

const maxLength = 255

/** Returns the name of an uploaded file: the last component of the sent name, without control characters. */
export function fileNameIn(sent: string | undefined): string {
  const last = (sent ?? '').toWellFormed().split(/[\\/]/).at(-1) ?? ''
  const name = last.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()
  if (name.length > maxLength) throw invalid(`filename is longer than ${maxLength} characters`)
  return name === '' || name === '.' || name === '..' ? 'file' : name
}
