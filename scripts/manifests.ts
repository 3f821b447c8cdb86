import { join } from 'node:path'
import { renderChart } from './render-chart.ts'

const chart = join(import.meta.dirname, '..', 'deploy', 'helm', 'switchyard')

/** Returns the manifests of Kubernetes: the chart with its own values, and the list of kustomize. */
export function manifests(): Readonly<Record<string, string>> {
  const rendered = Object.entries(renderChart(chart))
  const list = [
    '# Generated from the chart by `npm run reference`.',
    'resources:',
    ...rendered.map(([name]) => `  - ${name}`),
  ]
  return {
    ...Object.fromEntries(rendered.map(([name, text]) => [`deploy/kubernetes/${name}`, text])),
    'deploy/kubernetes/kustomization.yaml': `${[
      'apiVersion: kustomize.config.k8s.io/v1beta1',
      'kind: Kustomization',
      ...list,
    ].join('\n')}\n`,
  }
}
