import { isUtf8 } from 'node:buffer'
import { Type } from 'typebox'
import { invalid } from '../platform/errors.ts'
import { inTurns } from '../platform/turns.ts'
import { maxFileBytes } from '../sandboxes/sandbox.ts'
import { replaceBytes } from './replace-bytes.ts'
import { defineTool, done } from './tool.ts'

const maxTextLength = 1_000_000

/** Replaces text in a file. */
export const editTool = defineTool({
  name: 'edit',
  description:
    'Replace a text in a file of the workspace. old_string must be in the file exactly once, unless replace_all is true.',
  input: Type.Object({
    file_path: Type.String({ description: 'Relative to /workspace, or below it' }),
    old_string: Type.String({
      maxLength: maxTextLength,
      description: 'The text to replace, with its exact white space and without line numbers',
    }),
    new_string: Type.String({ description: 'The text to put there' }),
    replace_all: Type.Optional(Type.Boolean({ description: 'Replace every occurrence' })),
  }),
  idempotent: false,
  // The file in pieces and as a whole, the result, and the tables of the search.
  memoryBytes: ({ old_string, new_string }) => 3 * maxFileBytes + 15 * old_string.length + 3 * new_string.length,
  async run({ file_path, old_string, new_string, replace_all }, { sandbox, signal }) {
    if (old_string === '') throw invalid('old_string is empty; use write to create a file')
    if (old_string === new_string) throw invalid('new_string is the same as old_string')
    const edit = { path: file_path, from: old_string, all: replace_all === true }
    let count = 0
    await sandbox.files.update(file_path, async bytes => {
      // In a file with another encoding an edit could match half a character and destroy it.
      if (!isUtf8(bytes)) throw invalid(`${file_path}: not a UTF-8 text file`)
      const check = (places: number, resultBytes: number) => {
        count = places
        checkEdit(edit, { bytes, places, resultBytes })
      }
      const [from, to] = [Buffer.from(old_string), Buffer.from(new_string)]
      return await inTurns(replaceBytes({ bytes, from, to, check }), signal)
    })
    return done(`edited ${file_path} (${count} ${count === 1 ? 'place' : 'places'})`)
  },
})

interface Edit {
  readonly path: string
  readonly from: string
  readonly all: boolean
}

interface Found {
  readonly bytes: Buffer
  readonly places: number
  readonly resultBytes: number
}

/** Rejects an edit without a match, with several matches unless `all` is set, or with a result that is too large. */
function checkEdit({ path, from, all }: Edit, { bytes, places, resultBytes }: Found): void {
  if (places === 0) {
    const hint = from.includes('\n') && bytes.includes('\r\n') ? '; its lines end with \\r\\n' : ''
    throw invalid(`old_string: not found in ${path}${hint}`)
  }
  if (places > 1 && !all) {
    throw invalid(`old_string: found ${places} times in ${path}; add more context, or set replace_all`)
  }
  if (resultBytes > maxFileBytes) {
    throw invalid(`new_string: ${path} would have ${resultBytes} bytes, limit 10 MiB; edit it with bash`)
  }
}
