import {
  type DefineOutcome,
  defaultIterations,
  maxRubricLength,
  type Outcome,
  type OutcomeWrite,
} from '../../contract/outcomes.ts'
import type { PromptMode, PromptPart } from '../../contract/prompts.ts'
import { invalid } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { PreparedParts, PromptFiles } from './files/prompt-files.ts'

/** A message whose files are stored, with the outcome that its run has to reach. */
export interface PreparedMessage extends PreparedParts {
  readonly outcome?: Outcome | undefined
}

export interface OutcomeMessage extends PreparedParts {
  readonly outcome: Outcome
}

/** Where a request asks for an outcome. */
interface Place {
  readonly runtime: string
  /** Path in the request. */
  readonly field: string
}

/** Throws `invalid_request` when the runtime evaluates no outcomes. */
export async function checkOutcomes(
  { runtimes }: { readonly runtimes: Pick<RuntimeRegistry, 'find'> },
  { runtime, field }: Place,
): Promise<void> {
  if ((await runtimes.find(runtime))?.capabilities.outcomes) return
  throw invalid(`${field} is not supported by runtime ${runtime} (outcomes is false); send a prompt without it`)
}

/**
 * Returns the mode of a prompt with an outcome, which belongs to a whole run: the agent's default `steer` means `enqueue`.
 * Throws `invalid_request` when the client asked for `steer`.
 */
export function outcomeMode(asked: PromptMode | undefined, byDefault: PromptMode | undefined): PromptMode | undefined {
  if (asked === 'steer') throw invalid('outcome cannot be combined with mode "steer"; use mode "enqueue"')
  return asked ?? (byDefault === 'steer' ? 'enqueue' : byDefault)
}

/** Adds an outcome to a prompt. Without a description the texts of the prompt describe it. */
export function withOutcome(prepared: PreparedParts, write: OutcomeWrite): OutcomeMessage {
  const { rubric, max_iterations, model } = write
  const description = write.description ?? textsOf(prepared.parts)
  if (description.trim() === '') throw invalid('outcome.description is required: the prompt has no text')
  const outcome = {
    outcome_id: newId('outc'),
    description,
    rubric,
    max_iterations: max_iterations ?? defaultIterations,
    model: model ?? null,
  }
  return { ...prepared, parts: [...prepared.parts, rubricPart(rubric)], outcome }
}

/** Who sends an event, and the path of the event in the request. */
interface Sent {
  readonly sender: string
  readonly place: string
}

/** Returns the message that a client's event stands for. Throws `invalid_request` for an unusable file. */
export async function outcomeMessage(
  { promptFiles }: { readonly promptFiles: Pick<PromptFiles, 'textOf'> },
  { rubric, ...event }: DefineOutcome,
  { sender, place }: Sent,
): Promise<OutcomeMessage> {
  const reference = { field: `${place}.rubric.file_id`, name: undefined, fileId: '' }
  const text =
    rubric.type === 'text'
      ? rubric.content
      : await promptFiles.textOf({ ...reference, fileId: rubric.file_id }, { sender, maxLength: maxRubricLength })
  if (text.trim() === '') throw invalid(`${reference.field}: the file is blank`)
  return withOutcome({ parts: [{ type: 'text', text: event.description }] }, { ...event, rubric: text })
}

/** What the agent knows of the evaluation. It is part of the message, so the log has all that the model gets. */
const rubricPart = (rubric: string): PromptPart => ({
  type: 'text',
  text: `When you have finished, a grader judges the result by this rubric:\n\n<rubric>\n${rubric}\n</rubric>`,
})

const textsOf = (parts: readonly PromptPart[]): string =>
  parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n\n')
