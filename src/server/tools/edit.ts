import { isUtf8 } from 'node:buffer'
import { type Static, Type } from 'typebox'
import { invalid } from '../platform/errors.ts'
import { inTurns } from '../platform/turns.ts'
import { maxFileBytes } from '../sandboxes/sandbox.ts'
import { replaceBytes } from './replace-bytes.ts'
import { defineTool, done } from './tool.ts'

const maxTextLength = 1_000_000
const maxEdits = 100

const oldString = Type.String({
  maxLength: maxTextLength,
  description: 'The text to replace, with its exact white space and without line numbers',
})
const newString = Type.String({ description: 'The text to put there' })
const replaceAll = Type.Optional(Type.Boolean({ description: 'Replace every occurrence' }))

const EditInput = Type.Object({
  file_path: Type.String({ description: 'Relative to /workspace, or below it' }),
  old_string: Type.Optional(oldString),
  new_string: Type.Optional(newString),
  replace_all: replaceAll,
  edits: Type.Optional(
    Type.Array(Type.Object({ old_string: oldString, new_string: newString, replace_all: replaceAll }), {
      minItems: 1,
      maxItems: maxEdits,
      description: 'Several replacements instead of one, applied in order; when one fails the file stays unchanged',
    }),
  ),
})
type EditInput = Static<typeof EditInput>

/** Replaces text in a file: all of its edits, or none. */
export const editTool = defineTool({
  name: 'edit',
  description:
    'Replace a text in a file of the workspace: old_string with new_string, or several texts with edits. Each ' +
    'old_string must be in the file exactly once, unless its replace_all is true.',
  input: EditInput,
  idempotent: false,
  // The file in pieces and as a whole, the result, and the tables of one search; all texts as bytes.
  memoryBytes(input) {
    const edits = editsOf(input)
    const longest = edits.reduce((most, { from }) => Math.max(most, from.length), 0)
    return 3 * maxFileBytes + 12 * longest + 3 * edits.reduce((sum, { from, to }) => sum + from.length + to.length, 0)
  },
  async run(input, { sandbox, signal }) {
    const { file_path: path } = input
    const edits = editsOf(input)
    for (const edit of edits) checkTexts(edit)
    let count = 0
    await sandbox.files.update(path, async bytes => {
      // In a file with another encoding an edit could match half a character and destroy it.
      if (!isUtf8(bytes)) throw invalid(`${path}: not a UTF-8 text file`)
      let content = bytes
      for (const edit of edits) {
        const before = content
        const check = (places: number, resultBytes: number) => {
          count += places
          checkEdit(edit, { path, bytes: before, places, resultBytes })
        }
        const [from, to] = [Buffer.from(edit.from), Buffer.from(edit.to)]
        content = await inTurns(replaceBytes({ bytes: before, from, to, check }), signal)
      }
      return content
    })
    return done(`edited ${path} (${count} ${count === 1 ? 'place' : 'places'})`)
  },
})

interface Edit {
  /** Path of the edit in the input, with a dot at its end; empty for a single edit. */
  readonly field: string
  readonly from: string
  readonly to: string
  readonly all: boolean
}

/** Returns the edits in their order. */
function editsOf({ old_string, new_string, replace_all, edits }: EditInput): Edit[] {
  if (edits === undefined) {
    if (old_string === undefined || new_string === undefined) {
      const missing = old_string === undefined ? 'old_string' : 'new_string'
      throw invalid(`${missing} is required, or edits`)
    }
    return [{ field: '', from: old_string, to: new_string, all: replace_all === true }]
  }
  if (old_string !== undefined || new_string !== undefined || replace_all !== undefined) {
    throw invalid('use either edits, or old_string, new_string and replace_all')
  }
  return edits.map((edit, at) => ({
    field: `edits[${at}].`,
    from: edit.old_string,
    to: edit.new_string,
    all: edit.replace_all === true,
  }))
}

function checkTexts({ field, from, to }: Edit): void {
  if (from === '') throw invalid(`${field}old_string is empty; use write to create a file`)
  if (from === to) throw invalid(`${field}new_string is the same as old_string`)
}

interface Found {
  readonly path: string
  readonly bytes: Buffer
  readonly places: number
  readonly resultBytes: number
}

/** Rejects an edit without a match, with several matches unless `all` is set, or with a result that is too large. */
function checkEdit({ field, from, all }: Edit, { path, bytes, places, resultBytes }: Found): void {
  if (places === 0) {
    const hint = from.includes('\n') && bytes.includes('\r\n') ? '; its lines end with \\r\\n' : ''
    throw invalid(`${field}old_string: not found in ${path}${hint}`)
  }
  if (places > 1 && !all) {
    throw invalid(`${field}old_string: found ${places} times in ${path}; add more context, or set replace_all`)
  }
  if (resultBytes > maxFileBytes) {
    throw invalid(`${field}new_string: ${path} would have ${resultBytes} bytes, limit 10 MiB; edit it with bash`)
  }
}
