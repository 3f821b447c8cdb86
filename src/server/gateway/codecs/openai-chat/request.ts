import { invalid } from '../../../platform/errors.ts'
import { listOf } from '../../../platform/json.ts'
import type { AnthropicRequest, CodecContext, UpstreamRequest } from '../../translated/codec.ts'
import type { Degradation } from '../../translated/degradations.ts'
import { chatMessages } from './messages.ts'
import { effortOf, reasoningModelOf } from './reasoning.ts'
import { formatSettings, limitSettings, samplingSettings, userSettings } from './settings.ts'
import { toolSettings } from './tools.ts'

/** Fields that the parts of the conversion look after. What is none of them is dropped and listed. */
const knownFields = new Set([
  'model',
  'messages',
  'system',
  'max_tokens',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'metadata',
])

/** A request in Anthropic's format as one for `/chat/completions`. */
export function chatRequest(request: AnthropicRequest, context: CodecContext): UpstreamRequest {
  const degraded: Degradation[] = []
  const lose = (path: string, action: string): void => {
    degraded.push({ path, action })
  }
  // The tools behind these run at Anthropic: without them the model would be another one.
  if (listOf(request['mcp_servers']).length > 0) {
    throw invalid("mcp_servers: Anthropic's connector is not available at this model's provider")
  }
  for (const [field, value] of Object.entries(request)) {
    if (!knownFields.has(field) && value !== null) lose(field, 'dropped')
  }
  const model = reasoningModelOf(context)
  const takesFileUrls = context.deployment.provider === 'openrouter'
  const messages = chatMessages(request, { lose, takesFileUrls, openReasoning: context.reasoning.open })
  const tools = toolSettings(request, { lose, takesParallelSetting: model.takesParallelSetting })
  const effort = effortOf(request, model, { lose, hasTools: tools.tools !== undefined })
  return {
    path: '/chat/completions',
    body: {
      model: context.upstreamModel,
      messages,
      ...limitSettings(request, context),
      ...samplingSettings(request, { model, effort, lose }),
      ...tools,
      ...formatSettings(request, lose),
      ...(effort !== undefined && { reasoning_effort: effort }),
      ...userSettings(request, context, lose),
      ...(context.stream && { stream: true, stream_options: { include_usage: true } }),
    },
    degraded,
  }
}
