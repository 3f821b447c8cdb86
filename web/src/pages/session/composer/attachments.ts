import type { FilePartWrite } from '../../../../../src/contract/prompt-files.ts'
import { bytes } from '../../../parts/format.ts'
import { base64Of } from '../../../parts/read-file.ts'

/** Limits of the files of one prompt, as in the contract. */
const maxFiles = 20
const maxFileBytes = 10 * 1024 * 1024
const maxBytes = 20 * 1024 * 1024

/** Returns why these files cannot be sent; undefined when they can. */
export function attachmentProblem(files: readonly File[]): string | undefined {
  if (files.length > maxFiles) return `A message has at most ${maxFiles} files, not ${files.length}`
  const large = files.find(({ size }) => size > maxFileBytes)
  if (large) return `${large.name} has ${bytes(large.size)}; a file has at most ${bytes(maxFileBytes)}`
  const total = files.reduce((sum, { size }) => sum + size, 0)
  return total > maxBytes ? `The files have ${bytes(total)} together; at most ${bytes(maxBytes)}` : undefined
}

/** Reads a file as a part of a prompt. */
export async function partOf(file: File): Promise<FilePartWrite> {
  return {
    type: 'file',
    name: file.name,
    media_type: file.type === '' ? 'application/octet-stream' : file.type,
    data: await base64Of(file),
  }
}
