import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  attach,
  type BlockSource,
  blockOf,
  type Carrier,
  carriedIds,
  copyState,
  detach,
  detachAll,
  renew,
} from './blocks.ts'

const idOf = (at: number) => `skill_${at.toString(16).padStart(32, '0')}`
const bare = (system: string): Carrier => ({ system, skills: [] })
const skill = (at: number, content = `content ${at}`): BlockSource => ({ id: idOf(at), name: `Skill ${at}`, content })

/** Text out of the pieces that could confuse whoever looks for blocks. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\n',
        '\n\n',
        ' ',
        '<!-- skill:',
        '<!-- skill&#58;',
        ' -->',
        '<!-- ski',
        'll:',
        `<!-- skill:${idOf(0)} -->`,
        `\n\n<!-- skill:${idOf(1)} -->\n`,
        blockOf(idOf(2), 'content'),
        '\r\n',
        'x',
      ),
      fc.string({ maxLength: 5 }),
    ),
    { maxLength: 8 },
  )
  .map(pieces => pieces.join(''))
/** A prompt of the user's own may hold any text but the marker of a skill. */
const prompt = text.map(given => given.replaceAll('<!-- skill:', '<!-- skil:'))
const skills = fc
  .array(text, { minLength: 1, maxLength: 5 })
  .map(contents => contents.map((content, at) => skill(at, content)))

const attachedAll = (system: string, sources: readonly BlockSource[]) => sources.reduce(attach, bare(system))

test('law: attaching appends a blank line, the marker, a newline and the content', () => {
  fc.assert(
    fc.property(prompt, text, (system, content) => {
      const { system: after } = attach(bare(system), skill(7, content))
      const escaped = content.replaceAll('<!-- skill:', '<!-- skill&#58;')
      assert.equal(after, `${system}\n\n<!-- skill:${idOf(7)} -->\n${escaped}`)
    }),
  )
})

test('law: attaching a skill again changes nothing, also when its content is another by now', () => {
  fc.assert(
    fc.property(prompt, skills, text, fc.nat(), (system, sources, other, pick) => {
      const carrier = attachedAll(system, sources)
      const source = sources[pick % sources.length] ?? skill(0)
      assert.equal(attach(carrier, source), carrier)
      assert.equal(attach(carrier, { ...source, content: other }), carrier)
    }),
  )
})

test('law: detaching one leaves what attaching the others would have made', () => {
  fc.assert(
    fc.property(prompt, skills, fc.nat(), (system, sources, pick) => {
      const gone = sources[pick % sources.length]?.id ?? ''
      const rest = sources.filter(({ id }) => id !== gone)
      assert.deepEqual(detach(attachedAll(system, sources), gone), attachedAll(system, rest))
    }),
  )
})

test('law: detaching all, or each in any order, gives the prompt back byte for byte', () => {
  const shuffled = skills.chain(sources =>
    fc.tuple(fc.constant(sources), fc.shuffledSubarray([...sources], { minLength: sources.length })),
  )
  fc.assert(
    fc.property(prompt, shuffled, (system, [sources, order]) => {
      const carrier = attachedAll(system, sources)
      assert.deepEqual(detachAll(carrier), bare(system))
      assert.deepEqual(
        order.reduce((left, { id }) => detach(left, id), carrier),
        bare(system),
      )
    }),
  )
})

test('law: a prompt may hold the marker of another skill, and still comes back', () => {
  fc.assert(
    fc.property(text, skills, (system, sources) => {
      const fresh = sources.map((source, at) => ({ ...source, id: idOf(at + 100) }))
      const back = fresh.reduce((left, { id }) => detach(left, id), attachedAll(system, fresh))
      assert.equal(back.system, system)
    }),
  )
})

test('law: what a prompt carries is told in its order', () => {
  fc.assert(
    fc.property(prompt, skills, (system, sources) => {
      assert.deepEqual(
        carriedIds(attachedAll(system, sources)),
        sources.map(({ id }) => id),
      )
    }),
  )
})

test('law: renewing changes one block in its place, after which it is current and detaches as before', () => {
  fc.assert(
    fc.property(prompt, skills, text, fc.nat(), (system, sources, content, pick) => {
      const at = pick % sources.length
      const source = { ...(sources[at] ?? skill(0)), content }
      const renewed = renew(attachedAll(system, sources), source)
      assert.equal(renewed.system, attachedAll(system, sources.with(at, source)).system)
      assert.equal(copyState(renewed, source.id, content), 'current')
      assert.equal(detachAll(renewed).system, system)
    }),
  )
})

test('detaching what is not attached changes nothing', () => {
  const carrier = attachedAll('Base.', [skill(1)])
  assert.equal(detach(carrier, idOf(2)), carrier)
  const plain = bare('Base.')
  assert.equal(detachAll(plain), plain)
})

test('an edited block goes from its marker to the next marker, or to the end', () => {
  const carrier = attachedAll('Base.', [skill(1), skill(2), skill(3)])
  const edited = { ...carrier, system: carrier.system.replace('content 2', 'content two\n\nand more') }
  assert.equal(copyState(edited, idOf(2), 'content 2'), 'edited')
  assert.equal(detach(edited, idOf(2)).system, attachedAll('Base.', [skill(1), skill(3)]).system)
  const last = { ...carrier, system: carrier.system.replace('content 3', 'another end') }
  assert.equal(detach(last, idOf(3)).system, attachedAll('Base.', [skill(1), skill(2)]).system)
  const all = { ...carrier, system: carrier.system.replaceAll('content', 'changed') }
  assert.deepEqual(detachAll(all), bare('Base.'))
})

test('text on lines of its own behind a block stays; text that goes on in its last line was added to the block', () => {
  const carrier = attachedAll('Base.', [skill(1)])
  assert.equal(detachAll({ ...carrier, system: `${carrier.system}\n\nMine.` }).system, 'Base.\n\nMine.')
  assert.equal(detachAll({ ...carrier, system: `${carrier.system}\r\nMine.` }).system, 'Base.\r\nMine.')
  assert.equal(detachAll({ ...carrier, system: `${carrier.system} and more` }).system, 'Base.')
})

test('a block whose marker is gone is not attached: it can be attached again', () => {
  const carrier = attachedAll('Base.', [skill(1)])
  const rewritten = { ...carrier, system: 'Other.' }
  assert.equal(copyState(rewritten, idOf(1), 'content 1'), undefined)
  assert.deepEqual(attach(rewritten, skill(1)), attachedAll('Other.', [skill(1)]))
})

test('a block that came with pasted text counts by its marker', () => {
  const pasted = bare(attachedAll('Base.', [skill(1), skill(2)]).system)
  assert.deepEqual(carriedIds(pasted), [idOf(1), idOf(2)])
  assert.equal(attach(pasted, skill(1)), pasted)
  assert.equal(copyState(pasted, idOf(1), 'content 1'), 'current')
  assert.equal(detachAll(pasted).system, 'Base.')
  const mentioned = bare(`Blocks look like <!-- skill:${idOf(1)} --> here, or\n\n<!-- skill:any -->\nlike this.`)
  assert.equal(detachAll(mentioned), mentioned)
})

test('a prompt full of markers costs no more than a moment', () => {
  const markers = Array.from({ length: 15_000 }, (_, at) => blockOf(idOf(at), 'x')).join('')
  const timeOf = (prompt: string) => {
    const startedMs = performance.now()
    detachAll(bare(prompt))
    return performance.now() - startedMs
  }
  timeOf(markers)
  // A look at all markers for each marker would make it 100 times as long.
  const shortMs = Math.max(timeOf(markers), timeOf(markers), timeOf(markers))
  assert.ok(timeOf(markers.repeat(10)) < 50 * shortMs)
})
