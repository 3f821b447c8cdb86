import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

type Values = Readonly<Record<string, Readonly<Record<string, string | number>>>>

const reference = /\{\{ \.Values\.(\w+)\.(\w+) \}\}/g

/**
 * Renders the templates of a chart, by name, as `helm template` does: they only insert `{{ .Values.group.name }}`.
 * `changes` win over the file of the values. Throws for any other expression and for a value that does not exist.
 */
export function renderChart(folder: string, changes: Values = {}): Readonly<Record<string, string>> {
  const values = parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Values
  const names = globSync('*', { cwd: join(folder, 'templates') }).sort()
  return Object.fromEntries(
    names.map(name => [name, render(readFileSync(join(folder, 'templates', name), 'utf8'), { values, changes, name })]),
  )
}

interface Context {
  readonly values: Values
  readonly changes: Values
  readonly name: string
}

function render(template: string, { values, changes, name }: Context): string {
  const text = template.replaceAll(reference, (_, group: string, key: string) => {
    const value = changes[group]?.[key] ?? values[group]?.[key]
    if (value === undefined) throw new Error(`${name}: .Values.${group}.${key} has no value`)
    return String(value)
  })
  const [other] = /\{\{.*/.exec(text) ?? []
  if (other !== undefined) throw new Error(`${name}: ${other} is not of the form {{ .Values.group.name }}`)
  return text
}
