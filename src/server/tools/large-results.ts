import { randomBytes } from 'node:crypto'
import type { Sandbox } from '../sandboxes/sandbox.ts'
import { capText } from './cap-text.ts'

/** Folder of the workspace for results that are too long for the model. */
export const outputsFolder = '.outputs'

interface LongText {
  readonly text: string
  readonly isPartial?: boolean
}

interface Bounds {
  readonly limits: { readonly resultChars: number; readonly previewChars: number }
  readonly sandbox?: Sandbox
}

/**
 * Returns the text, or if it is longer than a result may be, the path of a file with it and its first and last part. A
 * full disk must not discard the result itself.
 */
export async function boundedText({ text, isPartial = false }: LongText, { limits, sandbox }: Bounds): Promise<string> {
  if (text.length <= limits.resultChars) return text
  if (!sandbox) return capText(text, limits.resultChars)
  const path = `${outputsFolder}/${randomBytes(4).toString('hex')}.txt`
  try {
    await sandbox.files.write(path, text)
  } catch {
    return `[cannot store the whole output]\n${capText(text, limits.resultChars)}`
  }
  const what = isPartial ? 'the start and end of the' : 'the whole'
  const preview = capText(text, Math.min(limits.previewChars, limits.resultChars))
  return `[${what} output is in ${path} (${text.length} characters); search it with grep, or read parts of it]\n${preview}`
}
