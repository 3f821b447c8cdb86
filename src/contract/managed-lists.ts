import { type TSchema, Type } from 'typebox'
import { Nullable } from './schemas.ts'

/** `limit` and `page` of the lists of the Managed Agents dialect. Dialects: section 1.8. */
export const managedPage = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
  page: Type.Optional(Type.String({ maxLength: 200, description: '`next_page` of the previous page' })),
}

/** One page of such a list. */
export const managedList = <S extends TSchema>(item: S) =>
  Type.Object({ data: Type.Array(item), next_page: Nullable(Type.String()) })
