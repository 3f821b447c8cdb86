import type { AgentWrite } from '../../../../src/contract/agents.ts'
import { type Fields, parseJson, recordOf } from '../../data/json.ts'
import { present } from '../../data/present.ts'
import { type Format, listOf, type PlaygroundForm, textOf } from './wire/form.ts'
import { thinkingOf } from './wire/request.ts'
import { readFunction } from './wire/tools.ts'

/** What of a form becomes an agent. */
export interface AgentOfForm {
  readonly fields: Pick<AgentWrite, 'model' | 'system' | 'tools' | 'config'>
  /** What an agent has no place for. */
  readonly notes: readonly string[]
}

const toolset = { type: 'agent_toolset_20260401' } as const
const agentEfforts = ['low', 'medium', 'high', 'xhigh', 'max']

/** Returns the fields of an agent that works as the form does; `hasBuiltIns` adds the tools of the runtime. */
export function agentOfForm(
  form: PlaygroundForm,
  { format, model, hasBuiltIns }: { readonly format: Format; readonly model: string; readonly hasBuiltIns: boolean },
): AgentOfForm {
  const tools = listOf(parseJson(form.tools).value)
  const custom = tools.map(readFunction).filter(tool => tool !== undefined)
  const foreign = tools.filter(tool => readFunction(tool) === undefined)
  const schema = parseJson(form.schema).value
  const isEffort = agentEfforts.includes(form.effort)
  const settings = present({
    max_tokens: form.maxTokens,
    temperature: form.temperature,
    effort: isEffort ? form.effort : undefined,
    thinking: agentThinking(form, format),
  })
  return {
    fields: {
      model,
      system: form.system,
      tools: [
        // An empty list would mean all tools of the runtime.
        hasBuiltIns ? toolset : { ...toolset, default_config: { enabled: false } },
        ...custom.map(({ name, description, input_schema }) => ({
          type: 'custom',
          name,
          description: description ?? '',
          input_schema,
        })),
      ],
      config: {
        ...(Object.keys(settings).length > 0 && { model_settings: settings }),
        ...(schema !== undefined && { output_schema: schema }),
      },
    },
    notes: [
      ...foreign.map(tool => `The tool ${nameOf(recordOf(tool))} runs at the provider and is left out.`),
      ...(form.others.trim() === '' ? [] : ['The other fields of the request are left out.']),
      ...(form.effort === '' || isEffort || form.effort === 'none'
        ? []
        : [`Agents have no effort ${form.effort}; the model’s own is used.`]),
    ],
  }
}

const nameOf = ({ name, type }: Fields): string => textOf(name) || textOf(type) || 'without a name'

/** Other formats than Messages have no setting but the effort. */
function agentThinking(form: PlaygroundForm, format: Format): Fields | undefined {
  if (format === 'messages') return thinkingOf(form)
  return form.effort === 'none' ? { type: 'disabled' } : undefined
}
