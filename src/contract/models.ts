import { type Static, Type } from 'typebox'
import { route } from './route.ts'
import { Nullable } from './schemas.ts'

/** A model as both Anthropic's and OpenAI's clients read it. Gaps: section 7. */
export const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  type: Type.Literal('model'),
  display_name: Type.String(),
  created: Type.Integer({ description: 'Seconds since 1970' }),
  created_at: Type.String({ format: 'date-time' }),
  owned_by: Type.String(),
  context_window: Type.Optional(Type.Integer()),
})
export type Model = Static<typeof Model>

const base = { access: 'key', errorShape: 'anthropic' } as const

export const modelRoutes = {
  list: route({
    ...base,
    id: 'models.list',
    method: 'GET',
    path: '/v1/models',
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 20 })),
      after_id: Type.Optional(Type.String({ maxLength: 300 })),
      before_id: Type.Optional(Type.String({ maxLength: 300 })),
      runtime: Type.Optional(Type.String({ maxLength: 200 })),
      beta: Type.Optional(Type.Unknown()),
    }),
    responses: {
      200: Type.Object({
        object: Type.Literal('list'),
        data: Type.Array(Model),
        has_more: Type.Boolean(),
        first_id: Nullable(Type.String()),
        last_id: Nullable(Type.String()),
      }),
    },
    summary: 'List the models that this key may use',
  }),
  get: route({
    ...base,
    id: 'models.get',
    method: 'GET',
    path: '/v1/models/{model_id}',
    params: Type.Object({ model_id: Type.String() }),
    responses: { 200: Model },
    summary: 'Read one model',
  }),
}
