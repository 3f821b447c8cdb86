import { ApiError } from '../../../src/client/index.ts'

/** An error of a form: at the field that the service named, else of the whole form. */
export interface FormError<Field extends string> {
  readonly at: (field: Field) => string | undefined
  /** The error when it belongs to none of the fields. */
  readonly rest: unknown
}

/**
 * Assigns an error to a field of a form. Messages begin with the field: `max_budget must be >= 0`, `params.model is
 * required`.
 */
export function formErrorOf<Field extends string>(error: unknown, fields: readonly Field[]): FormError<Field> {
  const message = error instanceof ApiError && error.status < 500 ? error.message : undefined
  const named = fields
    .filter(field => message !== undefined && isAbout(message, field))
    .reduce<Field | undefined>((longest, field) => (field.length > (longest?.length ?? 0) ? field : longest), undefined)
  return {
    at: field => (field === named ? message : undefined),
    rest: named === undefined ? error : undefined,
  }
}

/** True if the message begins with the field, also as `models[0] ...`. */
export const isAbout = (message: string, field: string): boolean =>
  message.startsWith(field) && /^(?![a-zA-Z0-9_])/.test(message.slice(field.length))
