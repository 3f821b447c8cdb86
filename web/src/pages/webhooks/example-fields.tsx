import { JsonField } from '../../parts/json-field.tsx'
import { isHeaders } from './headers.ts'

/** A delivery that a person makes up for previews and tests. */
export interface Example {
  readonly payload: unknown
  /** Values must be texts; others are reported at the field. */
  readonly headers: unknown
}

interface Props {
  readonly example: Example
  readonly onChange: (example: Example) => void
}

/** Payload and headers of an example. */
export function ExampleFields({ example, onChange }: Props) {
  return (
    <>
      <JsonField
        label="Example payload"
        value={example.payload}
        onChange={payload => onChange({ ...example, payload })}
        minRows={4}
      />
      <JsonField
        label="Headers of the example"
        description="Without token and signature: a test adds them with the stored secrets"
        value={example.headers}
        onChange={headers => onChange({ ...example, headers })}
        problemOf={headers => (headers === undefined || isHeaders(headers) ? undefined : 'values must be texts')}
        minRows={2}
      />
    </>
  )
}

/** Returns the parts of a request for an example. */
export const requestOf = ({ payload, headers }: Example) => ({
  payload: payload ?? null,
  ...(isHeaders(headers) && { headers: { ...headers } }),
})
