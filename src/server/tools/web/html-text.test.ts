import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTurns } from '../../platform/turns.ts'
import { htmlText } from './html-text.ts'

const base = 'https://example.com/a/b.html'
const never = new AbortController().signal
const read = (html: string, limits?: { maxChars: number; maxTokens: number }) =>
  inTurns(htmlText(html, base, limits), never)

const table: [guarantee: string, html: string, text: string][] = [
  ['paragraphs are separated by an empty line', '<p>One\n two</p><p>Three</p>', 'One two\n\nThree'],
  ['headings have their level', '<h1>A</h1><h3>B</h3>text', '# A\n\n### B\n\ntext'],
  ['list items have a dash', '<ul><li>one</li><li><p>two</p></li></ul>', '- one\n\n- two'],
  ['line breaks stay', 'one<br>two<br/>three', 'one\ntwo\nthree'],
  ['cells are separated', '<table><tr><th>a</th><td>b</td></tr><tr><td>c</td></tr></table>', 'a | b\nc'],
  ['code keeps its white space', '<pre>a\n  b &lt;</pre>after', '```\na\n  b <\n```\n\nafter'],
  ['links are absolute', '<a href="../c?d=1&amp;e=2">c <b>d</b></a>', '[c d](https://example.com/c?d=1&e=2)'],
  ['links that cannot be fetched are text', '<a href="javascript:x()">a</a> <a href="#b">b</a>', 'a b'],
  ['an unfinished link is closed', '<a href=x>a', '[a](https://example.com/a/x)'],
  ['images have their text', '<img alt="a chart" src="data:x"><img src=y>', '[image: a chart]'],
  ['inline elements keep the spaces', 'a<b>b</b> <i>c</i>d', 'ab cd'],
  ['scripts, styles and drawings are left out', 'a<script>"<p>b"</script><style>c</style><svg><g>d</g></svg>e', 'ae'],
  ['comments are left out, and may have tags', 'a<!-- <p>b</p> -->c<!doctype x><?x y?>d', 'acd'],
  [
    'character references are decoded',
    '&amp;&#65;&#x42;&eacute;&hellip;&nope;&#0;&#xd800;&amp',
    '&AB\u{e9}…&nope;\u{fffd}\u{fffd}&',
  ],
  ['a < that is no tag stays', '1 < 2 <3 </ 4', '1 < 2 <3 </ 4'],
  ['attributes may contain >', '<p title="a > b">c</p>', 'c'],
  ['an unclosed script hides the rest', 'a<script>b<p>c', 'a'],
  ['an unclosed tag hides the rest', 'a<p title="b>c', 'a'],
  ['a tag that closes nothing is ignored', '</p></svg></a>a</b>', 'a'],
  ['a document without markup is its text', '  plain   text ', 'plain text'],
]

for (const [guarantee, html, text] of table) {
  test(guarantee, async () => {
    assert.equal((await read(html)).text, text)
  })
}

test('the title is separate from the text', async () => {
  const { title, text } = await read('<head><title> A &amp;\n <b> </title></head><body>text</body>')
  assert.deepEqual([title, text], ['A & <b>', 'text'])
})

const size = 4_000_000
const bombs: [name: string, html: string][] = [
  ['nested elements', '<div>'.repeat(size / 5)],
  ['unclosed tags', '<a '.repeat(size / 3)],
  ['quotes', `<a ${'"" '.repeat(size / 3)}`],
  ['open quotes', `<a x="${'<a x='.repeat(size / 5)}`],
  ['comments', '<!--'.repeat(size / 4)],
  ['scripts', '<script></scrip'.repeat(size / 15)],
  ['angle brackets', '<'.repeat(size)],
  ['links', '<a href="x">'.repeat(size / 12)],
  ['references', '&#x41'.repeat(size / 5)],
  ['ampersands', '&'.repeat(size)],
  ['white space', ' '.repeat(size)],
  ['one word', 'x'.repeat(size)],
  ['drawings', '<svg>'.repeat(size / 5)],
  ['attributes', `<img alt="${'x'.repeat(size)}">`],
]

for (const [name, html] of bombs) {
  test(`a page of ${name} ends, and stays within the limits`, async () => {
    const { text } = await read(html)
    assert(text.length <= 400_000)
  })
}

test('a page above a limit is cut and says so', async () => {
  const long = await read('<p>text</p>'.repeat(1000), { maxChars: 100, maxTokens: 1000 })
  assert.deepEqual([long.isCut, long.text.length <= 100], [true, true])
  const complex = await read('<b></b>'.repeat(1000), { maxChars: 100, maxTokens: 1000 })
  assert.equal(complex.isCut, true)
})
