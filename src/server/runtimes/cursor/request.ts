import { compact, type Json } from '../../platform/json.ts'
import { paragraphs, textOfPart } from '../prompt-words.ts'
import { repositoryIn } from '../repository.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'

interface FirstRequest {
  readonly agentId: string
  readonly session: Pick<RunSession, 'system' | 'environment'>
  readonly prompt: Pick<RunPrompt, 'parts' | 'system'>
  /** Text block with the agent's memories; empty without any. */
  readonly memories: string
  /** Undefined lets Cursor choose. */
  readonly model: string | undefined
}

/** Returns the body that creates an agent with its first run. Dialects: section 3.4. */
export function agentBody({ agentId, session, prompt, memories, model }: FirstRequest): Json {
  const text = paragraphs(prompt.system ?? session.system, memories, textOfParts(prompt))
  return { agentId, prompt: { text }, ...modelField(model), ...repositoryFields(session.environment) }
}

/** Returns the body of a later run. The agent has its system prompt; one of this prompt only precedes the text. */
export function runBody(prompt: Pick<RunPrompt, 'parts' | 'system'>, model: string | undefined): Json {
  return { prompt: { text: paragraphs(prompt.system ?? '', textOfParts(prompt)) }, ...modelField(model) }
}

const textOfParts = ({ parts }: Pick<RunPrompt, 'parts'>): string => parts.map(textOfPart).join('\n\n')

const modelField = (model: string | undefined): Json => (model === undefined ? {} : { model: { id: model } })

function repositoryFields(environment: Json): Json {
  const repository = repositoryIn(environment)
  if (!repository) return {}
  const { url, ref: startingRef } = repository
  const autoCreatePR = environment['auto_create_pr'] ?? environment['autoCreatePr']
  return { repos: [compact({ url, startingRef })], ...(typeof autoCreatePR === 'boolean' && { autoCreatePR }) }
}

/** Returns Cursor's id of a model; undefined for an unknown name. */
export const findModel = (
  model: string,
  models: readonly { readonly id: string; readonly aliases: readonly unknown[] }[],
): string | undefined => models.find(({ id, aliases }) => id === model || aliases.includes(model))?.id
