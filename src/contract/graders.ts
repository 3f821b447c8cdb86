import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { JsonObject } from './schemas.ts'

/** Maximum number of graders of one case. */
export const maxGraders = 20

const Label = Type.Optional(
  Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', description: 'Name in results; default: the type' }),
)
const Text = Type.String({ minLength: 1, maxLength: 100_000 })
const IgnoreCase = Type.Optional(Type.Boolean({ default: false }))

const ExactGrader = named(
  'ExactGrader',
  Type.Object({
    type: Type.Literal('exact', { description: 'The answer must equal `value`, without white space at both ends' }),
    name: Label,
    value: Text,
    ignore_case: IgnoreCase,
  }),
)

const ContainsGrader = named(
  'ContainsGrader',
  Type.Object({
    type: Type.Literal('contains', { description: 'The answer must contain `value`' }),
    name: Label,
    value: Text,
    ignore_case: IgnoreCase,
  }),
)

const RegexGrader = named(
  'RegexGrader',
  Type.Object({
    type: Type.Literal('regex', { description: 'A part of the answer must match `pattern`' }),
    name: Label,
    pattern: Type.String({
      minLength: 1,
      maxLength: 10_000,
      description: 'Regular expression of ECMAScript with the flag `u`; it is stopped after 5 s',
    }),
  }),
)

const SchemaGrader = named(
  'SchemaGrader',
  Type.Object({
    type: Type.Literal('json_schema', { description: 'The answer must be JSON that matches `schema`' }),
    name: Label,
    schema: { ...JsonObject, description: 'JSON Schema of at most 64 KB' },
  }),
)

const CommandGrader = named(
  'CommandGrader',
  Type.Object({
    type: Type.Literal('command', {
      description:
        'The shell command must end with exit code 0. It runs in the sandbox of the session, in its workspace, without a network, after the session has ended',
    }),
    name: Label,
    command: Type.String({
      minLength: 1,
      maxLength: 10_000,
      pattern: '\\S',
      description: '`$ANSWER_FILE` is the path of a file with the answer',
    }),
    timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 600, default: 60 })),
  }),
)

const JudgeGrader = named(
  'JudgeGrader',
  Type.Object({
    type: Type.Literal('judge', {
      description: 'A model gives a score from 0 to 1 by `rubric`; the score must be at least `min_score`',
    }),
    name: Label,
    model: Type.String({ minLength: 1, maxLength: 200 }),
    rubric: Type.String({ minLength: 1, maxLength: 20_000, pattern: '\\S' }),
    min_score: Type.Optional(Type.Number({ minimum: 0, maximum: 1, default: 0.5 })),
  }),
)

/** Check of the last answer of a case, or of the files that its session left. */
export const Grader = named(
  'Grader',
  Type.Union([ExactGrader, ContainsGrader, RegexGrader, SchemaGrader, CommandGrader, JudgeGrader]),
)
export type Grader = Static<typeof Grader>
export type GraderOf<Kind extends Grader['type']> = Extract<Grader, { type: Kind }>

/** Result of one grader. */
export const Grade = named(
  'Grade',
  Type.Object({
    grader: Type.String({ description: 'Name of the grader, else its type' }),
    type: Type.String(),
    passed: Type.Boolean(),
    score: Type.Number({ minimum: 0, maximum: 1, description: '1 or 0, except for a judge' }),
    reason: Type.String({ description: 'Why it did not pass, or what a judge wrote; may be empty' }),
  }),
)
export type Grade = Static<typeof Grade>
