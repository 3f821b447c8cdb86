import type { Json } from '../../../platform/json.ts'

const text = { type: 'string' }
const line = { type: 'integer', description: 'For insert: the line behind which the text goes; 0 is the top' }
const lines = { type: 'array', items: { type: 'integer' }, description: 'First and last line, counted from 1' }

const bash = {
  description: 'Runs a command in a bash session that lasts from call to call.',
  parameters: {
    type: 'object',
    properties: {
      command: { ...text, description: 'The command. Required unless the session is restarted' },
      restart: { type: 'boolean', description: 'True starts a new session' },
    },
  },
}

const editor = {
  description: 'Views, creates and edits text files.',
  parameters: {
    type: 'object',
    properties: {
      command: { ...text, enum: ['view', 'create', 'str_replace', 'insert'] },
      path: { ...text, description: 'Absolute path of a file or folder' },
      view_range: lines,
      file_text: { ...text, description: 'For create: the whole content' },
      old_str: { ...text, description: 'For str_replace: the text to replace, which must occur once' },
      new_str: { ...text, description: 'For str_replace: the new text' },
      insert_line: line,
      insert_text: { ...text, description: 'For insert: the text' },
    },
    required: ['command', 'path'],
  },
}

const memory = {
  description: 'Keeps notes in files below /memories, which last from conversation to conversation.',
  parameters: {
    type: 'object',
    properties: {
      command: { ...text, enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
      path: { ...text, description: 'Path below /memories, for all commands but rename' },
      view_range: lines,
      file_text: { ...text, description: 'For create: the whole content' },
      old_str: { ...text, description: 'For str_replace: the text to replace, which must occur once' },
      new_str: { ...text, description: 'For str_replace: the new text' },
      insert_line: line,
      insert_text: { ...text, description: 'For insert: the text' },
      old_path: { ...text, description: 'For rename' },
      new_path: { ...text, description: 'For rename' },
    },
    required: ['command'],
  },
}

const families: readonly (readonly [string, typeof bash | typeof editor | typeof memory])[] = [
  ['bash_2', bash],
  ['text_editor_2', editor],
  ['memory_2', memory],
]

/**
 * What a tool means that Anthropic defines and the client runs: Claude knows its input by heart, others must be told.
 * Undefined for any other type.
 */
export const clientTool = (type: string): { readonly description: string; readonly parameters: Json } | undefined =>
  families.find(([start]) => type.startsWith(start))?.[1]
