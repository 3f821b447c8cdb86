import { type Json, recordOf, textOf } from '../../../platform/json.ts'
import { isClaudeFrom } from '../../upstream/bedrock-models.ts'
import type { Conversion } from './conversion.ts'
import { sentToolName } from './tool-identity.ts'
import { placeholderTool } from './tools.ts'

interface Options {
  /** Tool specifications and cache points. */
  readonly tools: readonly Json[]
  readonly choice: unknown
  /** True when the conversation holds calls or results. */
  readonly hasCalls: boolean
}

/** `toolConfig`, and the choice in Claude's own words where Converse has none for it: never both. */
export interface ToolSettings {
  readonly toolConfig: Json | undefined
  /** For `additionalModelRequestFields`. */
  readonly claudeChoice: Json | undefined
}

/** How tools may be used. */
export function toolSettings({ tools, choice, hasCalls }: Options, conversion: Conversion): ToolSettings {
  const { type, name, disable_parallel_tool_use: isSerial } = recordOf(choice)
  if (tools.length === 0) {
    if (hasCalls) conversion.note('tools', 'placeholder_added')
    return { toolConfig: hasCalls ? { tools: [placeholderTool] } : undefined, claudeChoice: undefined }
  }
  const isClaude = conversion.model.family === 'claude'
  if (type === 'none')
    return isClaude ? { toolConfig: { tools }, claudeChoice: { type } } : without(hasCalls, conversion)
  const wanted = possible(type, textOf(name), conversion)
  if (isSerial === true && isClaude)
    return { toolConfig: { tools }, claudeChoice: { ...wanted, disable_parallel_tool_use: true } }
  if (isSerial === true) conversion.note('tool_choice.disable_parallel_tool_use', 'dropped')
  const toolChoice = converseChoice(wanted)
  return { toolConfig: { tools, ...(toolChoice && { toolChoice }) }, claudeChoice: undefined }
}

/** A model that must not call anything gets nothing to call. */
function without(hasCalls: boolean, { note }: Conversion): ToolSettings {
  note('tool_choice', 'tools_dropped')
  return { toolConfig: hasCalls ? { tools: [placeholderTool] } : undefined, claudeChoice: undefined }
}

interface Choice {
  readonly type: 'auto' | 'any' | 'tool'
  readonly name?: string
}

/** What the model lets us ask for: some cannot be forced to call a tool. */
function possible(type: unknown, name: string, { model, note }: Conversion): Choice {
  if (type !== 'any' && type !== 'tool') return { type: 'auto' }
  if (isClaudeFrom(model, 505) || model.family === 'meta') {
    note('tool_choice', 'auto')
    return { type: 'auto' }
  }
  return type === 'any' ? { type } : { type, name: sentToolName(name) }
}

function converseChoice({ type, name }: Choice): Json | undefined {
  switch (type) {
    case 'auto':
      // What is there without it; some models refuse to be told.
      return undefined
    case 'any':
      return { any: {} }
    case 'tool':
      return { tool: { name } }
  }
}
