//! In 64 bits `erf` is a polynomial in each of eight pieces, and `erfc` is `exp(-x^2)` times such a one. In 32 bits `erf` is a polynomial
//! near zero, elsewhere one less the exponential of another.

use super::exponential::{self, exp_parts_of_pair};
use super::number::{Bits, Double, Pieces, Real, Single};
use super::polynomial::{Pair, exact_polynomial, leading_polynomial, polynomial, polynomial_of};
use super::power::exp2_single;

/// `erf(x) / x - 1` as polynomial of `x^2` for `|x| <= 1`, in 32 bits; with the next one, `erf` is off by at most 2^-28.4 of itself.
const NEAR_SINGLE: [f64; 7] = [
    0.12837916612625122,
    -0.3761262595653534,
    0.1128358244895935,
    -0.026853637769818306,
    0.0051879375241696835,
    -0.0008006430580280721,
    7.840601756470278e-05,
];

/// `-log(erfc(x)) / x` as polynomial of `x` from there on.
const LOG_SINGLE: [f64; 7] = [
    1.128762125968933,
    0.6347073316574097,
    0.10694355517625809,
    -0.024348193779587746,
    0.00390950683504343,
    -0.00038614985533058643,
    1.734166289679706e-05,
];

/// Beyond, `erf` is one in 32 bits.
const ONE_SINGLE: f64 = 4.0;

/// `exp(x^2) erfc(x)` in eight pieces for positive `x`: where each has its middle, its two parts there, and its coefficients from the
/// first on; off by 2^-55.7 of it. The bits of `x + 2` say the piece: it begins at 0, 1, 2, 4, 6, 10, 14 or 22.
static SCALED: Pieces = Pieces {
    name: "erfc",
    rows: &[
        &[0.5, 1.5, 3.0, 5.0, 8.0, 12.0, 18.0, 25.0],
        &[
            0.6156903441929259,
            0.3215854164543175,
            0.17900115118138996,
            0.11070463773306863,
            0.06998516620088092,
            0.04685422101489376,
            0.03129571781590521,
            0.02254957243264136,
        ],
        &[
            -2.312175868623341e-17,
            1.7007985607722196e-17,
            -5.4272175920200274e-18,
            -1.832347493639739e-18,
            3.2863406596468746e-18,
            1.3316767690684354e-18,
            -2.2367978073299203e-18,
            -1.6595181648253072e-18,
        ],
        &[
            -0.5126888229025867,
            -0.16362291773256007,
            -0.05437226000717287,
            -0.02133278976482631,
            -0.008616507881417731,
            -0.003877862738062271,
            -0.001733325722925018,
            -0.0009005454634446267,
        ],
        &[
            0.3593459327416325,
            0.0761510398554774,
            0.015884371159871354,
            0.0040406889089370755,
            0.0010531031495390852,
            0.0003198681581465103,
            9.585480325488568e-05,
            3.5935846525691044e-05,
        ],
        &[
            -0.22201057102118876,
            -0.032930905299560845,
            -0.004479431018372544,
            -0.00075289681342723,
            -0.0001277884567366896,
            -2.6296560202762837e-05,
            -5.292842891384054e-06,
            -1.4328668682335566e-06,
        ],
        &[
            0.12417032361552477,
            0.013377340953066773,
            0.0012230390523761225,
            0.00013810242090031067,
            1.5397747822740583e-05,
            2.154717856665621e-06,
            2.918156049865801e-07,
            5.708740992401095e-08,
        ],
        &[
            -0.06397016368481365,
            -0.005145957548106668,
            -0.000324125544497298,
            -2.495388357127942e-05,
            -1.84258966194038e-06,
            -1.7597836911884087e-07,
            -1.6064800649758816e-08,
            -2.2726480537313396e-09,
        ],
        &[
            0.030728413924057545,
            0.0018861348770306664,
            8.355413963809984e-05,
            4.44433434969709e-06,
            2.1901017585500406e-07,
            1.4325809115158795e-08,
            8.830644302368935e-10,
            9.040286284409079e-11,
        ],
        &[
            -0.013887416223256623,
            -0.000661930062641724,
            -2.0989464457693577e-05,
            -7.806319414559846e-07,
            -2.5859501411131887e-08,
            -1.1624741929868082e-09,
            -4.846883048482498e-11,
            -3.593280356165855e-12,
        ],
        &[
            0.005946176460956576,
            0.0002233099442741257,
            5.146436499023925e-06,
            1.3529365053951183e-07,
            3.0335409774667636e-09,
            9.402964846748797e-11,
            2.6563703834542363e-12,
            1.4271178803094782e-13,
        ],
        &[
            -0.002425405946267817,
            -7.265898584730193e-05,
            -1.2333677333345838e-06,
            -2.3147520312046546e-08,
            -3.5359415269472354e-10,
            -7.581888775928735e-12,
            -1.4536956237168274e-13,
            -5.663683323433398e-15,
        ],
        &[
            0.0009466945950946284,
            2.2864313751400996e-05,
            2.8926691588613657e-07,
            3.911243817315802e-09,
            4.0957689801503644e-11,
            6.094400106070134e-13,
            7.943653862484027e-15,
            2.2458356644227863e-16,
        ],
        &[
            -0.00035492240803870404,
            -6.974357682347936e-06,
            -6.646685653721018e-08,
            -6.528777167168359e-10,
            -4.715033076799175e-12,
            -4.882486984576743e-14,
            -4.334422580826642e-16,
            -8.862893321396261e-18,
        ],
        &[
            0.0001282063034568519,
            2.0669563942629384e-06,
            1.4977134101182197e-08,
            1.0773869385008311e-10,
            5.394974503341772e-13,
            3.901097144002932e-15,
            2.3615008985489643e-17,
            3.5249348425931e-19,
        ],
        &[
            -4.4725819015877744e-05,
            -5.999102501500107e-07,
            -3.3128521930806487e-09,
            -1.7700438713773713e-11,
            -6.137815613125995e-14,
            -3.1490199246765496e-16,
            -1.2847849489543372e-18,
            -2.000969892465409e-20,
        ],
        &[
            1.5117642605876925e-05,
            1.676219208474127e-07,
            7.206358915960789e-10,
            2.8390434662531846e-12,
            6.94917900549456e-15,
            2.4740624356124402e-17,
            6.990360355927718e-20,
            5.329511527229724e-22,
        ],
        &[
            -5.010613367521522e-06,
            -3.219806486728791e-08,
            -1.5386620059377132e-10,
            -3.4205105215640815e-13,
            -7.786034267441327e-16,
            -1.012638984860889e-18,
            -3.792961086507004e-21,
            5.8899821136244385e-22,
        ],
        &[
            1.5812421759977144e-06,
            1.2133974885462302e-08,
            3.166050314564526e-11,
            6.983132782429821e-14,
            8.499475321956518e-17,
            1.4438598038590646e-19,
            1.9974237079307925e-22,
            1.9264433036765866e-24,
        ],
        &[
            -3.8844299028407415e-07,
            -3.037252718363327e-08,
            -6.58768137429575e-12,
            -6.580277243993918e-14,
            -9.762896263685518e-18,
            -1.2805954597680314e-19,
            -1.0785917703891183e-23,
            -3.368460334465303e-23,
        ],
        &[
            1.5521362889887224e-07,
            1.053715337280001e-09,
            1.6626344884418192e-12,
            2.237027309683588e-15,
            1.3462908692315746e-18,
            1.5764453896587744e-21,
            7.555143459862722e-25,
            -2.4883617159718138e-26,
        ],
        &[
            -1.2793972688087967e-07,
            2.2343673932856572e-08,
            -3.2582304924297137e-13,
            1.1080197392944443e-14,
            -1.3254645844277845e-19,
            5.947145516088848e-21,
            -4.0964547779572443e-26,
            7.814550246968079e-25,
        ],
    ],
};

/// Roughly what `exp(x^2) erfc(x)` grows by, for small numbers.
const SLOPE: f64 = -0.95;

/// Up to here `erfc` is a normal number.
const NORMAL: f64 = 26.0;

/// Beyond, `erfc` is zero.
const FURTHEST: f64 = 28.0;

/// `erfc(x)` of a positive number is `2^n` times a value.
#[inline(always)]
fn complement<R: Real>(x: R) -> (exponential::Multiple<R>, R) {
    let piece = (x + R::of(2.0)).bits().down(51);
    let number = |row| R::of_piece(&SCALED, row, piece);
    let (middle, distance) = (number(0), x - number(0));
    // Where numbers are small, their distance has not all of their digits.
    let lost = x - (distance + middle);
    let constant_low = lost.mul_add(R::of(SLOPE), number(2));
    let linear = Pair::sum_with_product(number(1), distance, number(3));
    let rest = polynomial_of(distance, SCALED.rows.len() - 6, |n| number(n + 6));
    let rest = distance.mul_add(rest, number(5));
    let rest = distance.mul_add(rest, number(4));
    let scaled = linear
        .and((distance * distance).mul_add(rest, constant_low))
        .normal();
    let (multiple, exp) = exp_parts_of_pair(Pair::product(x, -x), &exponential::DOUBLE);
    let product = Pair::product(scaled.high, exp.high);
    let low = scaled.low.mul_add(exp.high, product.low);
    let low = scaled.high.mul_add(exp.low, low);
    (multiple, product.high + low)
}

/// `erfc(x)`.
#[inline(always)]
pub fn erfc<R: Real>(x: R) -> R {
    let furthest = R::of(FURTHEST);
    let magnitude = R::select(furthest.below(x.abs()), furthest, x.abs());
    let constants = &exponential::DOUBLE;
    let (multiple, value) = complement(magnitude);
    let is_small = !magnitude.at_most(R::of(NORMAL));
    let usual = multiple.usual_power_times(value, constants);
    let [value] = R::rarely(is_small, [usual], || {
        let small = multiple.power_times(value, constants);
        [R::select(is_small, small, usual)]
    });
    R::select(x.below(R::of(0.0)), R::of(2.0) - value, value)
}

/// `erf` in eight pieces, around multiples of [`PIECE`]: its two parts there, and its Taylor-like coefficients from the first on.
#[expect(
    clippy::approx_constant,
    reason = "it stands among numbers that have no names"
)]
static ERF: Pieces = Pieces {
    name: "erf",
    rows: &[
        &[
            0.0,
            0.7390672708437228,
            0.975447940993496,
            0.9992552927535052,
            0.9999931002292912,
            0.9999999810085899,
            0.9999999999847116,
            0.9999999999999964,
        ],
        &[
            0.0,
            5.497481939302765e-17,
            1.2057274892487493e-18,
            2.090977821713785e-17,
            -3.02974871724012e-17,
            -5.120530969531489e-17,
            3.875699615995128e-17,
            -1.2882058819190917e-17,
        ],
        &[
            1.1283791670955126,
            0.5998242701678029,
            0.09010127966235866,
            0.003824510290427548,
            4.587316006260532e-05,
            1.5548175456437045e-07,
            1.489149010410916e-10,
            4.0302763957186635e-14,
        ],
        &[
            1.436694266332923e-14,
            -0.47681343351229666,
            -0.14324695633820297,
            -0.009120560673070384,
            -0.00014586231363656666,
            -6.1797923933284e-07,
            -7.102542741102932e-10,
            -2.2426284100043018e-13,
        ],
        &[
            -0.3761263890343545,
            0.0527448623392528,
            0.12179309227307794,
            0.013225429619103155,
            0.00029390666357329795,
            1.5856568006092565e-06,
            2.2087483370105874e-09,
            8.184991365359438e-13,
        ],
        &[
            1.7869326884293182e-10,
            0.13797378873713767,
            -0.04906700782570382,
            -0.012729588074723871,
            -0.00041864490095291684,
            -2.945190112865042e-06,
            -5.0305956829769e-09,
            -2.2024957382342326e-12,
        ],
        &[
            0.11283790998722444,
            -0.05969481183901354,
            -0.005334377391665489,
            0.008175204738471815,
            0.0004442919843289072,
            4.206695054003961e-06,
            8.934808812178859e-09,
            4.656722768236786e-12,
        ],
        &[
            1.5331048212329712e-07,
            -0.020975439747657705,
            0.015911477606144878,
            -0.0031040922592586477,
            -0.0003592645827364905,
            -4.787939168133791e-06,
            -1.2863457808631996e-08,
            -8.050040785965797e-12,
        ],
        &[
            -0.02686846229846,
            0.018977003535664803,
            -0.005957556824331262,
            0.0001685319798602993,
            0.00022060165212432672,
            4.435602456335239e-06,
            1.5401997666207163e-08,
            1.1689611642481562e-11,
        ],
        &[
            2.355375276335586e-05,
            0.000723428366257229,
            -0.0010417062405760188,
            0.0005646853078004164,
            -9.837581065523636e-05,
            -3.381459860167458e-06,
            -1.560862071931155e-08,
            -1.4536533192073512e-11,
        ],
        &[
            0.0050526101382039265,
            -0.0038177656703842766,
            0.0015264481147142233,
            -0.0003320240799077391,
            2.661731019039266e-05,
            2.1241850029899252e-06,
            1.3548668040305748e-08,
            1.5701083797028603e-11,
        ],
        &[
            0.0008962131702544849,
            0.000478354123107923,
            -0.00030017027081718394,
            5.7971444922306535e-05,
            5.620774193116036e-07,
            -1.0874118788680185e-06,
            -1.0149316211264081e-08,
            -1.4889836290689076e-11,
        ],
        &[
            -0.004235609322816983,
            0.0005555834424145677,
            -0.00016302544316422395,
            2.9197196920423586e-05,
            -4.680527539111571e-06,
            4.3822415326201344e-07,
            6.584439264027016e-09,
            1.2507211067720331e-11,
        ],
        &[
            0.009116751146816723,
            -0.00014607069826321197,
            8.867456646758733e-05,
            -2.038853645828958e-05,
            2.39537635616421e-06,
            -1.2554397234787157e-07,
            -3.696105918789504e-09,
            -9.33826001926771e-12,
        ],
        &[
            -0.017016332270236245,
            -6.0453124142576067e-05,
            1.3765798426147581e-06,
            3.3488212762619777e-06,
            -5.115847277249689e-07,
            1.5013855772432256e-08,
            1.7826163327239626e-09,
            6.147558502403014e-12,
        ],
        &[
            0.02132456009178218,
            2.604193221839085e-05,
            -1.1985653489022494e-05,
            1.549236899945149e-06,
            -8.412440702067058e-08,
            8.079967604902673e-09,
            -7.285956229975201e-10,
            -3.683679075377711e-12,
        ],
        &[
            -0.015800758396265803,
            4.592748073661575e-06,
            2.099867192904583e-06,
            -8.56877160453647e-07,
            9.856723352867018e-08,
            -6.311970691224874e-09,
            2.4595641109931784e-10,
            2.2712532676576572e-12,
        ],
        &[
            0.005263510269149656,
            -3.2311196610687485e-06,
            9.127767659674002e-07,
            6.952891779369514e-08,
            -2.72794813358621e-08,
            2.034377595539711e-09,
            -5.7177470591690373e-11,
            -1.063366006448561e-12,
        ],
    ],
};

/// Beyond, `erf` is one.
const ONE: f64 = 5.95;

/// The width of a piece.
const PIECE: f64 = 0.794921875;

/// `erf(x)` in 64 bits.
#[inline(always)]
pub fn erf_double<R: Real>(x: R) -> R {
    let furthest = R::of(ONE);
    let magnitude = R::select(furthest.below(x.abs()), furthest, x.abs());
    let rounding = R::of(6755399441055744.0);
    let shifted = magnitude.mul_add(R::of(1.0 / PIECE), rounding);
    let piece = shifted.bits();
    let number = |row| R::of_piece(&ERF, row, piece);
    let distance = (shifted - rounding).mul_add(R::of(-PIECE), magnitude);
    // In the first part the digits of the linear term are all there, and few of the next two get lost.
    let linear = Pair::sum_with_product(number(0), distance, number(2));
    let rest = polynomial_of(distance, ERF.rows.len() - 5, |n| number(n + 5));
    let rest = distance.mul_add(rest, number(4));
    let rest = distance.mul_add(rest, number(3));
    let low = (distance * distance).mul_add(rest, number(1));
    (linear.high + (linear.low + low)).copysign(x)
}

/// `erf(x)` in 32 bits.
#[inline(always)]
pub fn erf_single<R: Real>(x: R) -> R {
    let constants = &exponential::SINGLE;
    let (one, furthest) = (R::of(1.0), R::of(ONE_SINGLE));
    let magnitude = R::select(furthest.below(x.abs()), furthest, x.abs());
    let beyond = exact_polynomial(magnitude * magnitude, &NEAR_SINGLE);
    let near = magnitude.mul_add(beyond, magnitude);
    let log = Pair::product(magnitude, leading_polynomial(magnitude, &LOG_SINGLE));
    let (multiple, exp) = exponential::exp_of_pair(-log, constants);
    let far = one - multiple.usual_power_times(exp, constants);
    R::select(one.below(magnitude), far, near).copysign(x)
}

/// `exp(x^2) erfc(x)` for positive `x` as polynomial of `(x - 3) / (x + 3)`, for 32 bits; off by 2^-29.4 of it.
const SCALED_SINGLE: [f64; 11] = [
    0.17900115126477245,
    -0.32623356382817886,
    0.24560379756182235,
    -0.15011578179695081,
    0.07166586420382709,
    -0.024394231646412017,
    0.004268876093496963,
    0.000715731083953486,
    -0.0005945695412138666,
    2.888030538833866e-05,
    5.591592314994805e-05,
];

/// Beyond, `erfc` is zero in 32 bits.
const ZERO_SINGLE: f64 = 10.2;

/// `erfc(x)` in 32 bits, computed with 64.
#[inline(always)]
pub fn erfc_single<R: Single>(x: R) -> R {
    let x = x.widen();
    let (magnitude, furthest) = (x.abs(), R::Wide::of(ZERO_SINGLE));
    let magnitude = R::Wide::select(furthest.below(magnitude), furthest, magnitude);
    let three = R::Wide::of(3.0);
    let ratio = (magnitude - three) / (magnitude + three);
    let exp = exp2_single(magnitude * magnitude * R::Wide::of(-std::f64::consts::LOG2_E));
    let value = exp * polynomial(ratio, &SCALED_SINGLE);
    let negative = x.below(R::Wide::of(0.0));
    R::Wide::select(negative, R::Wide::of(2.0) - value, value).narrow()
}
