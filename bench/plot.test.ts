import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plotOf } from './plot.ts'

const bars = [
  { label: 'bare proxy', value: 50 },
  { label: 'ours & <mine>', value: 75, isOurs: true },
  { label: 'slow', value: 1_500 },
  { label: 'absent', value: Number.NaN },
]
const svg = plotOf({ title: 'Cost', subtitle: 'today', charts: [{ title: 'CPU', bars }] })

test('the longest bar fills the room and the others are in proportion', () => {
  const lengths = [...svg.matchAll(/width="([\d.]+)" height="18"/g)].map(([, length]) => Number(length))
  const [bare = 0, ours = 0, slow = 0, absent] = lengths
  assert.equal(absent, 0)
  assert.ok(Math.abs(ours / bare - 1.5) < 0.02)
  assert.ok(Math.abs(slow / bare - 30) < 0.2)
})

test('every bar has its value as text, and a contender that did not run is named', () => {
  for (const text of ['>50<', '>75<', '>1,500<', '>did not run<']) assert.ok(svg.includes(text), text)
})

test('labels are escaped', () => {
  assert.ok(svg.includes('ours &amp; &lt;mine&gt;'))
  assert.doesNotMatch(svg, /<mine>/)
})

test('the image brings its own light ground, so that a dark page does not swallow its text', () => {
  assert.match(svg, /<rect x="0.5" y="0.5" [^>]*fill="#ffffff"/)
  assert.doesNotMatch(svg, /NaN|undefined/)
})

test('a chart without any measurement is still an image', () => {
  const empty = plotOf({
    title: 'a',
    subtitle: 'b',
    charts: [{ title: 'c', bars: [{ label: 'd', value: Number.NaN }] }],
  })
  assert.doesNotMatch(empty, /NaN|Infinity/)
})
