/** A page of metrics. */
export interface MetricsPage {
  readonly contentType: string
  readonly body: string
}

const openMetrics = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
const text = 'text/plain; version=0.0.4; charset=utf-8'

/** Returns the page in the format that `accept` names: OpenMetrics, else the text format of Prometheus. */
export const pageFor = (accept: string | undefined, metrics: string): MetricsPage =>
  accept?.includes('application/openmetrics-text')
    ? { contentType: openMetrics, body: openMetricsOf(metrics) }
    : { contentType: text, body: metrics }

/** OpenMetrics names a family of counters without `_total`, allows no blank line, and ends with a mark. */
const openMetricsOf = (metrics: string): string =>
  `${metrics.replaceAll(/^# (HELP|TYPE) (\w+)_total /gm, '# $1 $2 ').replaceAll(/\n{2,}/g, '\n')}# EOF\n`
