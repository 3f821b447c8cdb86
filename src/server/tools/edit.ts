import { Type } from 'typebox'
import { invalid } from '../platform/errors.ts'
import { defineTool, done } from './tool.ts'

/** Replaces text in a file. */
export const editTool = defineTool({
  name: 'edit',
  description:
    'Replace a text in a file of the workspace. old_string must be in the file exactly once, unless replace_all is true.',
  input: Type.Object({
    file_path: Type.String({ description: 'Relative to /workspace, or below it' }),
    old_string: Type.String({
      description: 'The text to replace, with its exact white space and without line numbers',
    }),
    new_string: Type.String({ description: 'The text to put there' }),
    replace_all: Type.Optional(Type.Boolean({ description: 'Replace every occurrence' })),
  }),
  idempotent: false,
  async run({ file_path, old_string, new_string, replace_all }, { sandbox }) {
    let count = 0
    await sandbox.files.update(file_path, bytes => {
      const text = decoded(file_path, bytes)
      const edit = { from: old_string, to: new_string, all: replace_all === true }
      count = occurrences(text, file_path, edit)
      return text.split(old_string).join(new_string)
    })
    return done(`edited ${file_path} (${count} ${count === 1 ? 'place' : 'places'})`)
  },
})

/** The text of the file. Other bytes than UTF-8 would be destroyed by writing it back. */
function decoded(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw invalid(`${path}: it is not a UTF-8 text file`)
  }
}

interface Edit {
  readonly from: string
  readonly to: string
  readonly all: boolean
}

/** How often the text is there. Refuses an edit that has no place, or more than one without being told so. */
function occurrences(text: string, path: string, { from, to, all }: Edit): number {
  if (from === '') throw invalid('old_string: is empty; use write for a new file')
  if (from === to) throw invalid('new_string: is the same as old_string')
  const count = text.split(from).length - 1
  if (count === 0) {
    const hint = text.includes('\r\n') && from.includes('\n') ? '; its lines end with \\r\\n' : ''
    throw invalid(`old_string: not found in ${path}${hint}`)
  }
  if (count > 1 && !all) {
    throw invalid(`old_string: found ${count} times in ${path}; add more context, or set replace_all`)
  }
  return count
}
