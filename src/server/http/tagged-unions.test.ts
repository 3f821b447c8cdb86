import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { createValidatorCompiler, validationMessage } from './validation.ts'

const Text = Type.Object({ type: Type.Literal('text'), text: Type.String() })
const Point = Type.Object({ type: Type.Literal('point'), at: Type.Object({ x: Type.Number(), y: Type.Number() }) })
const Body = Type.Object({
  item: Type.Optional(Type.Union([Text, Point])),
  list: Type.Optional(
    Type.Array(Type.Union([Text, Type.Object({ type: Type.Literal('list'), items: Type.Array(Text) })])),
  ),
  named: Type.Optional(Type.Union([Type.String(), Point])),
  loose: Type.Optional(
    Type.Union([Type.Object({ a: Type.String() }), Type.Object({ b: Type.Object({ c: Type.String() }) })]),
  ),
})

function refusal(body: object): string {
  const validate = createValidatorCompiler()({ schema: Body, method: 'POST', url: '/', httpPart: 'body' })
  const { error = [] } = validate(body) as { error?: Parameters<typeof validationMessage>[0] }
  return validationMessage(error, 'body')
}

const table: readonly (readonly [guarantee: string, body: object, said: string])[] = [
  [
    'a type that no alternative has is told with those there are',
    { item: { type: 'no' } },
    'item.type must be one of "text", "point"',
  ],
  ['without a type, too', { item: {} }, 'item.type must be one of "text", "point"'],
  ['a known type is held to its own alternative', { item: { type: 'point', at: { x: 1 } } }, 'item.at.y is required'],
  ['also where another alternative fails deeper', { item: { type: 'text' } }, 'item.text is required'],
  [
    'within lists',
    { list: [{ type: 'text', text: '' }, { type: 'no' }] },
    'list[1].type must be one of "text", "list"',
  ],
  [
    'of an alternative within an alternative',
    { list: [{ type: 'list', items: [{ type: 'text' }] }] },
    'list[0].items[0].text is required',
  ],
  ['beside alternatives that are no objects', { named: { type: 'no' } }, 'named.type must be "point"'],
  ['alternatives without a type are as they were', { loose: { b: {} } }, 'loose.b.c is required'],
]
for (const [guarantee, body, said] of table) test(guarantee, () => assert.equal(refusal(body), said))
