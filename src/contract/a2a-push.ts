import { type Static, Type } from 'typebox'
import { open, tenant } from './a2a-fields.ts'
import { named } from './named.ts'
import { Nullable } from './schemas.ts'

const Id = Type.String({ maxLength: 200 })

/** Where the changes of a task are sent. Clients whose libraries send default values mean absent by an empty text. */
export const A2aPushConfig = named(
  'A2aPushConfig',
  Type.Object(
    {
      tenant,
      id: Type.Optional({ ...Id, description: 'Assigned when absent; the config with the same id is replaced' }),
      taskId: Type.Optional({ ...Id, description: 'The task; absent in `SendMessage`' }),
      url: Type.String({ minLength: 1, maxLength: 2_000, description: 'Address that gets the notifications' }),
      token: Type.Optional(
        Type.String({ maxLength: 4_000, description: 'Sent as `X-A2A-Notification-Token`; never shown again' }),
      ),
      authentication: Type.Optional(
        Nullable(
          Type.Object(
            {
              scheme: Type.String({ minLength: 1, maxLength: 100, description: 'Such as `Bearer`' }),
              credentials: Type.Optional(Type.String({ maxLength: 8_000, description: 'Never shown again' })),
            },
            open,
          ),
          'Sent as the header `Authorization`',
        ),
      ),
    },
    open,
  ),
)
export type A2aPushConfig = Static<typeof A2aPushConfig>

export const A2aPushConfigList = named('A2aPushConfigList', Type.Object({ configs: Type.Array(A2aPushConfig) }))
export type A2aPushConfigList = Static<typeof A2aPushConfigList>

/** Parameters of JSON-RPC methods for one config, or for those of a task. */
export const A2aPushParams = Type.Object(
  {
    tenant,
    taskId: Type.String({ minLength: 1, maxLength: 200 }),
    id: Id,
  },
  open,
)

/** How lists of configs are read. */
export const pushPage = {
  pageSize: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'No effect: a task has at most 10 configs' }),
  ),
  pageToken: Type.Optional(Type.String({ maxLength: 0, description: 'There is only one page' })),
}
export const A2aPushListParams = Type.Object(
  {
    tenant,
    taskId: Type.String({ minLength: 1, maxLength: 200 }),
    ...pushPage,
  },
  open,
)
