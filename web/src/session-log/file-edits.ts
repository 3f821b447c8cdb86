import type { ToolCall } from './view.ts'

/** A change of a file by a tool call. */
export interface FileEdit {
  readonly path: string
  /** The text that is replaced; undefined when the call writes the whole file. */
  readonly before: string | undefined
  readonly after: string
  readonly isForEachMatch: boolean
}

/** Returns the changes that a call of `edit` or `write` asks for, in their order; empty for other calls. */
export function editsOf({ name, server, input }: Pick<ToolCall, 'name' | 'server' | 'input'>): FileEdit[] {
  if (server !== undefined) return []
  const fields = recordOf(input)
  const path = textIn(fields, 'file_path') ?? textIn(fields, 'path')
  if (path === undefined) return []
  if (name === 'write') {
    const after = textIn(fields, 'content')
    return after === undefined ? [] : [{ path, before: undefined, after, isForEachMatch: false }]
  }
  if (name !== 'edit') return []
  const { edits } = fields
  return (Array.isArray(edits) ? edits : [fields]).flatMap(edit => editOf(path, recordOf(edit)))
}

function editOf(path: string, fields: Fields): FileEdit[] {
  const before = textIn(fields, 'old_string')
  const after = textIn(fields, 'new_string')
  if (before === undefined || after === undefined) return []
  return [{ path, before, after, isForEachMatch: fields['replace_all'] === true }]
}

type Fields = Readonly<Record<string, unknown>>

const recordOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})

function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' ? value : undefined
}
