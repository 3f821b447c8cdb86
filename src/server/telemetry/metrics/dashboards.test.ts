import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { catalogue, type MetricSpec } from './catalogue.ts'

const root = join(import.meta.dirname, '..', '..', '..', '..')
const textOf = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8')

interface Dashboard {
  readonly uid: string
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly runbook_url: string }
}

const dashboards = readdirSync(join(root, 'deploy', 'grafana')).map(
  name => JSON.parse(textOf('deploy', 'grafana', name)) as Dashboard,
)
const { groups } = parse(textOf('deploy', 'prometheus', 'alerts.yaml')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap(group => group.rules)

/** Every name that a scraper stores for a metric. */
function seriesOf([name, { type }]: [string, MetricSpec]): string[] {
  return type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]
}

const series = new Map(
  Object.entries<MetricSpec>(catalogue).flatMap(entry => seriesOf(entry).map(name => [name, entry[1]] as const)),
)

const named = /\b((?:switchyard|gen_ai|process|nodejs)_\w+)(?:\{([^}]*)\})?/g
/** Labels that Prometheus adds. */
const ofScraper = ['job', 'instance', 'le']

/** Problems of an expression: metrics that do not exist, and labels that they do not have. */
function problemsOf(expression: string): string[] {
  return [...expression.matchAll(named)].flatMap(([, name = '', selector = '']) => {
    const spec = series.get(name)
    // Labels in `by (...)` and aggregations are words without braces.
    if (!spec) return isLabel(name) ? [] : [`unknown metric ${name}`]
    const used = [...selector.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g)].map(([, label = '']) => label)
    return used
      .filter(label => !ofScraper.includes(label) && !spec.labels.includes(label))
      .map(label => `${name} has no label ${label}`)
  })
}

const labels = new Set(Object.values<MetricSpec>(catalogue).flatMap(spec => spec.labels))
const isLabel = (name: string): boolean => labels.has(name)

test('every metric and label of the dashboards exists', () => {
  assert.deepEqual(dashboards.map(({ uid }) => uid).sort(), [
    'switchyard-gateway',
    'switchyard-overview',
    'switchyard-sessions',
  ])
  for (const { uid, panels } of dashboards)
    for (const { title, targets } of panels)
      for (const { expr } of targets) assert.deepEqual(problemsOf(expr), [], `${uid}, ${title}: ${expr}`)
})

test('every metric and label of the alerts exists, and every alert has a runbook', () => {
  const runbooks = textOf('docs', 'runbooks.md')
  for (const { alert, expr, annotations } of rules) {
    assert.deepEqual(problemsOf(expr), [], `${alert}: ${expr}`)
    assert.equal(annotations.runbook_url, `docs/runbooks.md#${alert.toLowerCase()}`)
    assert.match(runbooks, new RegExp(`^## ${alert}$`, 'm'))
  }
})

test('every metric of the service is shown in a dashboard, or is a label of the process', () => {
  const shown = dashboards
    .flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)))
    .join('\n')
  const elsewhere = ['switchyard_database_up', 'switchyard_database_connections_max', 'process_start_time_seconds']
  const hidden = Object.keys(catalogue).filter(name => !elsewhere.includes(name) && !shown.includes(name))
  assert.deepEqual(hidden, [])
})

test('the page about observability names every metric', () => {
  const page = textOf('docs', 'observability.md')
  const unnamed = Object.keys(catalogue).filter(name => !page.includes(`\`${name}\``))
  assert.deepEqual(unnamed, [])
})
