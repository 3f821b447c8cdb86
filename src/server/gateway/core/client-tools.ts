import { isAnthropicFormat } from '../../config/protocols.ts'
import { isRecord, type Json, recordOf, textOf } from '../../platform/json.ts'
import type { CanonicalRequest } from './codec.ts'
import type { StepOptions } from './normal-history.ts'

/**
 * Returns the request with tools that Anthropic defines and the client runs as functions with their documented input.
 * Claude knows these tools; other models need the schema. A tool search is dropped: it runs at Anthropic, and all tools
 * are in the request.
 */
export function withClientTools(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const { tools, ...rest } = request
  if (!Array.isArray(tools) || isAnthropicFormat(target.protocol)) return request
  const given: readonly unknown[] = tools
  const isSearch = (tool: unknown): boolean => typeOf(tool).startsWith('tool_search_tool_')
  if (!given.some(tool => isSearch(tool) || definitionOf(tool))) return request
  const kept = given.flatMap((tool, index) => {
    const definition = definitionOf(tool)
    if (!definition && !isSearch(tool)) return [tool]
    note(`tools.${index}`, definition ? 'sent_as_function' : 'dropped')
    return definition ? [functionOf(recordOf(tool), definition)] : []
  })
  const { tool_choice: choice, ...others } = rest
  const isSearched = given.some(tool => isSearch(tool) && recordOf(tool)['name'] === recordOf(choice)['name'])
  if (choice === undefined || (kept.length > 0 && !isSearched)) return { ...request, tools: kept }
  note('tool_choice', 'dropped')
  return { ...others, tools: kept }
}

const typeOf = (tool: unknown): string => (isRecord(tool) ? textOf(tool['type']) : '')

interface Definition {
  readonly description: string
  readonly properties: Json
  readonly required: readonly string[]
}

const functionOf = (tool: Json, { description, properties, required }: Definition): Json => ({
  name: tool['name'],
  description: `${description}${screenOf(tool)}`,
  input_schema: { type: 'object', properties, required },
  ...(tool['cache_control'] !== undefined && { cache_control: tool['cache_control'] }),
})

/** Returns the size of the screen, which a model needs for coordinates. */
const screenOf = ({ display_width_px: width, display_height_px: height }: Json): string =>
  width === undefined ? '' : ` The screen is ${String(width)} pixels wide and ${String(height)} high.`

const text = { type: 'string' }
const integer = { type: 'integer' }
const pair = { type: 'array', items: integer, minItems: 2, maxItems: 2 }
const commands = (...names: readonly string[]) => ({ ...text, enum: names })

const bash: Definition = {
  description: 'Runs a command in a bash session that lasts from call to call.',
  properties: {
    command: { ...text, description: 'The command. Required unless the session is restarted' },
    restart: { type: 'boolean', description: 'True starts a new session' },
  },
  required: [],
}

/** Properties that the editor and the memory tool share. */
const edits = {
  view_range: { ...pair, description: 'For view: first and last line, counted from 1; -1 is the last' },
  file_text: { ...text, description: 'For create: the whole content' },
  old_str: { ...text, description: 'For str_replace: the text to replace, which must occur once' },
  insert_line: { ...integer, description: 'For insert: the line behind which the text goes; 0 is the top' },
}
const newText = { ...text, description: 'For str_replace: the new text' }
const insertText = { ...text, description: 'For insert: the text' }
const path = { ...text, description: 'Absolute path of a file or folder' }

const editor: Definition = {
  description: 'Views, creates and edits text files.',
  properties: {
    command: commands('view', 'create', 'str_replace', 'insert'),
    path,
    ...edits,
    new_str: newText,
    insert_text: insertText,
  },
  required: ['command', 'path'],
}

/** Until July 2025 one field held the text of both commands; the first versions could undo. */
const olderEditor = (...more: readonly string[]): Definition => ({
  ...editor,
  properties: {
    command: commands('view', 'create', 'str_replace', 'insert', ...more),
    path,
    ...edits,
    new_str: { ...text, description: 'For str_replace and insert: the new text' },
  },
})

const memory: Definition = {
  description: 'Keeps notes in files below /memories, which last from conversation to conversation.',
  properties: {
    command: commands('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
    path: { ...text, description: 'Path below /memories, for all commands but rename' },
    ...edits,
    new_str: newText,
    insert_text: insertText,
    old_path: { ...text, description: 'For rename' },
    new_path: { ...text, description: 'For rename' },
  },
  required: ['command'],
}

const firstActions = [
  ...['key', 'type', 'mouse_move', 'left_click', 'left_click_drag', 'right_click', 'middle_click', 'double_click'],
  ...['screenshot', 'cursor_position'],
]
const laterActions = ['left_mouse_down', 'left_mouse_up', 'triple_click', 'scroll', 'hold_key', 'wait']
const place = { ...pair, description: 'x and y in pixels from the upper left corner' }

const firstComputer: Definition = {
  description: 'Uses the mouse and the keyboard of a computer, and takes pictures of its screen.',
  properties: {
    action: commands(...firstActions),
    coordinate: place,
    text: { ...text, description: 'The text to type, or the keys to press, such as ctrl+s' },
  },
  required: ['action'],
}

const laterComputer = (...more: readonly string[]): Definition => ({
  ...firstComputer,
  properties: {
    ...firstComputer.properties,
    action: commands(...firstActions, ...laterActions, ...more),
    start_coordinate: { ...place, description: 'For left_click_drag: where the drag begins' },
    scroll_direction: commands('up', 'down', 'left', 'right'),
    scroll_amount: { ...integer, description: 'For scroll: the number of clicks of the wheel' },
    duration: { type: 'number', description: 'For hold_key and wait: seconds' },
    ...(more.includes('zoom') && {
      region: {
        type: 'array',
        items: integer,
        minItems: 4,
        maxItems: 4,
        description: 'For zoom: x and y of two corners',
      },
    }),
  },
})

/** Definitions by prefix of the tool type. The first match is used. */
const definitions: readonly (readonly [string, Definition])[] = [
  ['bash_2', bash],
  ['text_editor_2024', olderEditor('undo_edit')],
  ['text_editor_202501', olderEditor('undo_edit')],
  ['text_editor_202504', olderEditor()],
  ['text_editor_2', editor],
  ['memory_2', memory],
  ['computer_2024', firstComputer],
  ['computer_202501', laterComputer()],
  ['computer_2', laterComputer('zoom')],
]

const definitionOf = (tool: unknown): Definition | undefined =>
  definitions.find(([start]) => typeOf(tool).startsWith(start))?.[1]
