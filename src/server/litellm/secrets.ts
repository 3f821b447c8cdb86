import { createUniqueNames } from '../platform/unique-names.ts'
import type { ImportReport } from './report.ts'

/** Moves credentials out of the file: into references to environment variables. */
export interface SecretReferences {
  /** Returns a reference in place of a credential in plain text; other values unchanged. */
  moved(value: unknown, place: { readonly setting: string; readonly variable: string }): unknown
}

const reference = /^os\.environ\//

export function createSecretReferences(report: ImportReport): SecretReferences {
  const variables = new Map<string, string>()
  const unique = createUniqueNames((name, number) => `${name}_${number}`)

  return {
    moved(value, { setting, variable: wanted }) {
      if (typeof value !== 'string' || reference.test(value)) return value
      const known = variables.get(value)
      const variable = known ?? unique(wanted.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_'))
      variables.set(value, variable)
      report.approximated(
        setting,
        `the credential is not copied into the new file, which reads it from ${variable}`,
        `export ${variable} with the value of ${setting}`,
      )
      return `os.environ/${variable}`
    },
  }
}
