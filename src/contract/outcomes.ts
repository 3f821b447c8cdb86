import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { Nullable } from './schemas.ts'

/** Evaluations of an outcome that does not say how many. Source: Managed Agents, `user.define_outcome`. */
export const defaultIterations = 3
export const maxIterations = 20
/** Characters of a rubric. Source: Managed Agents, `user.define_outcome`. */
export const maxRubricLength = 262_144

const Description = Type.String({
  minLength: 1,
  maxLength: 500_000,
  pattern: '\\S',
  description: 'What the agent should produce',
})
const RubricText = Type.String({
  minLength: 1,
  maxLength: maxRubricLength,
  pattern: '\\S',
  description: 'How to judge the result, in plain text or Markdown',
})
const Iterations = Type.Optional(
  Nullable(
    Type.Integer({
      minimum: 1,
      maximum: maxIterations,
      description: `Evaluations until the service gives up; ${defaultIterations} by default`,
    }),
  ),
)
const GraderModel = Type.Optional(
  Nullable(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '\\S',
      description: 'Model of the grader; that of the prompt by default',
    }),
  ),
)

/** Outcome of a prompt as a client sends it. */
export const OutcomeWrite = named(
  'OutcomeWrite',
  Type.Object(
    {
      description: Type.Optional(Description),
      rubric: RubricText,
      max_iterations: Iterations,
      model: GraderModel,
    },
    { description: 'A grader judges the result by the rubric, and its feedback is the next turn of the same run' },
  ),
)
export type OutcomeWrite = Static<typeof OutcomeWrite>

const RubricWrite = named(
  'RubricWrite',
  Type.Union([
    Type.Object({ type: Type.Literal('text'), content: RubricText }),
    Type.Object({
      type: Type.Literal('file'),
      file_id: Type.String({ minLength: 1, maxLength: 200, description: 'An uploaded text' }),
    }),
  ]),
)

/** Event of a client that defines an outcome. Dialects: section 1.6. */
export const DefineOutcome = named(
  'DefineOutcome',
  Type.Object({
    type: Type.Literal('user.define_outcome'),
    description: Description,
    rubric: RubricWrite,
    max_iterations: Iterations,
    model: GraderModel,
  }),
)
export type DefineOutcome = Static<typeof DefineOutcome>

/** Verdicts of an evaluation; only after `needs_revision` another one follows. */
export const OutcomeVerdict = named(
  'OutcomeVerdict',
  Type.Union([
    Type.Literal('satisfied'),
    Type.Literal('needs_revision'),
    Type.Literal('max_iterations_reached'),
    Type.Literal('failed'),
    Type.Literal('interrupted'),
  ]),
)
export type OutcomeVerdict = Static<typeof OutcomeVerdict>

/** The last verdict on the outcome of a prompt. */
export const LastVerdict = named(
  'LastVerdict',
  Type.Object({
    outcome_id: Type.String({ description: 'Id of the outcome in its `user.define_outcome`' }),
    result: OutcomeVerdict,
    iteration: Type.Integer({ description: 'Number of the revision, from 0' }),
    explanation: Type.String(),
  }),
)
export type LastVerdict = Static<typeof LastVerdict>

const outcomeFields = {
  outcome_id: Type.String(),
  description: Type.String(),
  max_iterations: Type.Integer(),
}

/** An outcome as it is stored with its prompt. */
export interface Outcome {
  readonly outcome_id: string
  readonly description: string
  readonly rubric: string
  readonly max_iterations: number
  /** Model of the grader; null means that of the prompt. */
  readonly model: string | null
}

/** How far the evaluation of an outcome has come. */
export interface OutcomeState {
  readonly result: OutcomeVerdict | 'evaluating'
  readonly iteration: number
  readonly explanation: string | null
  /** Time of the last verdict; absent before it. */
  readonly completed_at?: string
}

/** State of an outcome; `pending`, `running` and `evaluating` are not final. */
export const OutcomeResult = named(
  'OutcomeResult',
  Type.Union([
    Type.Literal('pending'),
    Type.Literal('running'),
    Type.Literal('evaluating'),
    Type.Literal('satisfied'),
    Type.Literal('max_iterations_reached'),
    Type.Literal('failed'),
    Type.Literal('interrupted'),
  ]),
)
export type OutcomeResult = Static<typeof OutcomeResult>

const progress = {
  result: OutcomeResult,
  iteration: Type.Integer({ description: 'Number of the current revision, from 0' }),
  explanation: Nullable(Type.String(), 'Explanation of the last verdict'),
  completed_at: Nullable(Type.String({ format: 'date-time' }), 'Null before the final result'),
}

/** The outcome of a prompt with its state. */
export const PromptOutcome = named(
  'PromptOutcome',
  Type.Object({
    ...outcomeFields,
    rubric: Type.String(),
    model: Nullable(Type.String(), 'Model of the grader; null: that of the prompt'),
    ...progress,
  }),
)
export type PromptOutcome = Static<typeof PromptOutcome>

/** State of an outcome in a session of the Managed Agents dialect. */
export const OutcomeEvaluation = named(
  'OutcomeEvaluation',
  Type.Object({
    type: Type.Literal('outcome_evaluation'),
    outcome_id: outcomeFields.outcome_id,
    description: outcomeFields.description,
    ...progress,
  }),
)
export type OutcomeEvaluation = Static<typeof OutcomeEvaluation>

/** An outcome in the database, with its prompt's state. */
export interface StoredOutcome {
  readonly outcome: Outcome
  readonly outcome_state: OutcomeState | null
  readonly state: 'waiting' | 'running' | 'done' | 'error' | 'cancelled'
  /** End of the prompt. */
  readonly ended_at: Date | null
}

/** Results of prompts that ended without a final verdict. */
const endedWithout = { done: 'failed', error: 'failed', cancelled: 'interrupted' } as const

type Progress = Pick<PromptOutcome, keyof typeof progress>

/** Returns the state of an outcome. The end of the prompt decides when the grader had no last word. */
export function progressOf({ outcome_state: last, state, ended_at }: StoredOutcome): Progress {
  const { iteration = 0, explanation = null } = last ?? {}
  const end = ended_at?.toISOString() ?? null
  if (last && isFinal(last.result)) {
    const { completed_at } = last
    const at = completed_at === undefined ? end : new Date(completed_at).toISOString()
    return { result: last.result, iteration, explanation, completed_at: at }
  }
  if (state === 'waiting' || state === 'running') return unfinished(last, state)
  return { result: endedWithout[state], iteration, explanation, completed_at: end }
}

function unfinished(last: OutcomeState | null, state: 'waiting' | 'running'): Progress {
  if (!last) {
    const result = state === 'waiting' ? 'pending' : 'running'
    return { result, iteration: 0, explanation: null, completed_at: null }
  }
  const { iteration, explanation } = last
  if (last.result === 'evaluating') return { result: 'evaluating', iteration, explanation, completed_at: null }
  return { result: 'running', iteration: iteration + 1, explanation, completed_at: null }
}

type FinalVerdict = Exclude<OutcomeVerdict, 'needs_revision'>

/** Reports whether no further evaluation follows. */
export const isFinal = (result: OutcomeState['result']): result is FinalVerdict =>
  result !== 'needs_revision' && result !== 'evaluating'
