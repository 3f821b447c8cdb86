import { compact, type Json, nonEmptyText, recordOf } from '../../platform/json.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'

interface FirstRequest {
  readonly agentId: string
  readonly session: Pick<RunSession, 'system' | 'environment'>
  readonly prompt: Pick<RunPrompt, 'parts' | 'system'>
  /** Block that holds the agent's memories; empty without any. */
  readonly memories: string
  /** Undefined leaves the choice to Cursor. */
  readonly model: string | undefined
}

/** The body that makes an agent and begins its first run. Dialects: section 3.4. */
export function agentBody({ agentId, session, prompt, memories, model }: FirstRequest): Json {
  const texts = [prompt.system ?? session.system, memories, textOfParts(prompt)]
  const text = texts.filter(part => part.trim() !== '').join('\n\n')
  return { agentId, prompt: { text }, ...modelField(model), ...repositoryFields(session.environment) }
}

/** The body of a later run. The agent knows its system prompt by now; one of this prompt alone comes before the text. */
export function runBody(prompt: Pick<RunPrompt, 'parts' | 'system'>, model: string | undefined): Json {
  const texts = [prompt.system ?? '', textOfParts(prompt)]
  return { prompt: { text: texts.filter(part => part.trim() !== '').join('\n\n') }, ...modelField(model) }
}

const textOfParts = ({ parts }: Pick<RunPrompt, 'parts'>): string => parts.map(({ text }) => text).join('\n\n')

const modelField = (model: string | undefined): Json => (model === undefined ? {} : { model: { id: model } })

/** Names the repository in the words of `environment`, and in those that older clients use. Gaps: section 5. */
function repositoryFields(environment: Json): Json {
  const source = recordOf(environment['source'])
  const url = nonEmptyText(environment['repository']) ?? nonEmptyText(source['repository'])
  if (url === undefined) return {}
  const startingRef = nonEmptyText(environment['ref']) ?? nonEmptyText(source['ref'])
  const autoCreatePR = environment['auto_create_pr'] ?? environment['autoCreatePr']
  return { repos: [compact({ url, startingRef })], ...(typeof autoCreatePR === 'boolean' && { autoCreatePR }) }
}

/** Names with which people leave the choice to Cursor. */
const anyModel: ReadonlySet<string> = new Set(['', 'default', 'auto'])

/** True when the name asks for one model, so that a look at the list is worth it. */
export const isModelNamed = (model: string): boolean => !anyModel.has(model.toLowerCase())

/** Cursor's id of the model that was asked for; undefined when it has none of that name. */
export const knownModel = (
  model: string,
  models: readonly { readonly id: string; readonly aliases: readonly unknown[] }[],
): string | undefined => models.find(({ id, aliases }) => id === model || aliases.includes(model))?.id
